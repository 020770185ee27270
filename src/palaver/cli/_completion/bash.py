"""The script for bash, also for version 3.2, which macOS has.

Bash splits the line at `:` and `=` too (`COMP_WORDBREAKS`) and replaces only the last piece. So the script first joins
the pieces of each word, and later removes from each completion the part before the last piece.
"""

from collections.abc import Iterator

from palaver.cli._completion.command_line import CommandNode, Values

_HEAD = r"""# Completion of palaver for bash; `palaver completion bash` prints it.

# Sets `typed` to the words before the cursor, each in one piece, and `current` to the beginning of the one at it.
__palaver_words() {
    local line=${COMP_LINE:0:COMP_POINT} index piece rest is_joined=
    typed=()
    current=
    for ((index = 0; index < COMP_CWORD; index++)); do
        piece=${COMP_WORDS[index]}
        rest=${line#"${line%%[![:space:]]*}"}
        if [[ $rest == "$line" && -n $is_joined && ($piece == [:=]* || $is_joined == *[:=]) ]]; then
            typed[${#typed[@]}-1]+=$piece
        else
            typed+=("$piece")
        fi
        is_joined=$piece
        line=${rest:${#piece}}
    done
    rest=${line#"${line%%[![:space:]]*}"}
    if [[ $rest == "$line" && ${#typed[@]} -gt 1 && -n $is_joined && ($rest == [:=]* || $is_joined == *[:=]) ]]; then
        current=${typed[${#typed[@]}-1]}$rest
        unset "typed[${#typed[@]}-1]"
    else
        current=$rest
    fi
}

# Adds a completion, quoted unless it is in quotes already, without the part that bash does not replace.
__palaver_add() {
    local value=$1
    if [[ -n $quote ]]; then
        COMPREPLY+=("$value")
        return
    fi
    [[ $value == *[!A-Za-z0-9_./:=@%+,~-]* && -z $2 ]] && printf -v value %q "$value"
    value=$before$value
    [[ $value == "$kept"* ]] && COMPREPLY+=("${value#"$kept"}")
}

__palaver_complete() {
    local IFS=$' \t\n' values=$1 choice line
    for choice in $values; do
        case $choice in
        @files)
            compopt -o filenames 2>/dev/null
            while IFS= read -r line; do
                __palaver_add "$line" is_quoted_by_bash
            done < <(compgen -f -- "$plain")
            ;;
        @*)
            while IFS= read -r line; do
                __palaver_add "${line%%$'\t'*}"
            done < <("${typed[0]/#\~/$HOME}" complete-values "${choice#@}" "$plain" 2>/dev/null)
            ;;
        *)
            [[ $choice == "$plain"* ]] && __palaver_add "$choice"
            ;;
        esac
    done
}

_palaver() {
    local typed current plain quote= before= kept= separators
    local path= options= commands= values= arguments=0 pending= ended= index word
    COMPREPLY=()
    compopt +o default 2>/dev/null
    compopt -o nosort 2>/dev/null
    __palaver_words

    __palaver_node
    for ((index = 1; index < ${#typed[@]}; index++)); do
        word=${typed[index]}
        if [[ -n $pending ]]; then
            pending=
        elif [[ -z $ended && $word == -- ]]; then
            ended=1
        elif [[ -z $ended && $word == -* ]]; then
            if __palaver_option "$word"; then
                pending=$word
            fi
        elif [[ -n $commands ]]; then
            path=${path:+$path }$word
            __palaver_node
        else
            arguments=$((arguments + 1))
        fi
    done

    if [[ -z $pending && -z $ended && $current == --*=* ]]; then
        pending=${current%%=*}
        before=$pending=
        current=${current#*=}
    fi
    plain=$current
    case $current in
    [\"\']*) quote=${current:0:1} plain=${current:1} ;;
    *\\*) plain=$(printf '%s' "$current" | sed 's/\\\(.\)/\1/g') ;;
    esac
    separators=${COMP_WORDBREAKS//[^:=]/}
    if [[ -n $separators ]]; then
        word=$before$current
        word=${word##*["$separators"]}
        kept=$before$current
        kept=${kept%"$word"}
    fi

    if [[ -n $pending ]]; then
        __palaver_option "$pending" && __palaver_complete "$values"
    elif [[ -z $ended && $current == -* ]]; then
        __palaver_complete "$options"
    elif [[ -n $commands ]]; then
        __palaver_complete "$commands"
    else
        values=
        __palaver_argument
        __palaver_complete "$values"
    fi
}
"""
_TAIL = "complete -o default -F _palaver palaver\n"


def script(root: CommandNode) -> str:
    nodes = list(root.walk())
    return "\n".join(
        [
            _HEAD,
            "# Sets `options` and `commands` to what can follow the command in `path`.",
            *_function("__palaver_node", '"$path"', _node_cases(nodes), default="options= commands="),
            "# Sets `values` to what an option takes; fails if it takes nothing.",
            *_function("__palaver_option", '"$path $1"', _option_cases(nodes), default="return 1"),
            "# Sets `values` to what the next argument can be.",
            *_function("__palaver_argument", '"$path $arguments"', _argument_cases(nodes)),
            _TAIL,
        ]
    )


def _function(name: str, subject: str, cases: Iterator[str], default: str = "") -> list[str]:
    rest = [f"    *) {default} ;;"] if default else []
    return [f"{name}() {{", f"    case {subject} in", *cases, *rest, "    esac", "}", ""]


def _node_cases(nodes: list[CommandNode]) -> Iterator[str]:
    for node in nodes:
        options = " ".join(name for option in node.options for name in option.names)
        commands = " ".join(command.path[-1] for command in node.commands)
        yield f"    '{' '.join(node.path)}') options='{options}' commands='{commands}' ;;"


def _option_cases(nodes: list[CommandNode]) -> Iterator[str]:
    """One case for all options with the same values."""
    patterns: dict[str, list[str]] = {}
    for node in nodes:
        for option in node.options:
            if option.values is not None:
                places = [f"'{' '.join(node.path)} {name}'" for name in option.names]
                patterns.setdefault(_written(option.values), []).extend(places)
    for values, places in patterns.items():
        yield f"    {' | '.join(places)}) values='{values}' ;;"


def _argument_cases(nodes: list[CommandNode]) -> Iterator[str]:
    for node in nodes:
        last = len(node.arguments) - 1
        for index, argument in enumerate(node.arguments):
            position = "*" if index == last and node.is_last_repeated else f"'{index}'"
            if written := _written(argument.values):
                yield f"    '{' '.join(node.path)} '{position}) values='{written}' ;;"


def _written(values: Values) -> str:
    archive = (f"@{values.archive}",) if values.archive else ()
    return " ".join((*values.choices, *archive, *(("@files",) if values.files else ())))
