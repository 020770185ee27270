"""The script for zsh: one function for each command, which describes it to zsh's own `_arguments`."""

from collections.abc import Iterator

from palaver.cli._completion.command_line import CommandNode, Option, Values

_HEAD = r"""#compdef palaver
# Completion of palaver for zsh; `palaver completion zsh` prints it.

# Offers values of the archive: the newest or most frequent first, with what describes them.
__palaver_values() {
    local line value
    local -a found
    for line in "${(@f)$("$palaver_program" complete-values "$1" "${(Q)PREFIX}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        value=${${${line%%$'\t'*}//\\/\\\\}//:/\\:}
        found+=("$value:${line#*$'\t'}")
    done
    _describe -V "$1" found
}

# Calls the function of a subcommand.
__palaver_command() {
    local command=$1_$words[1]
    curcontext=${curcontext%:*:*}:${command#_}:
    (( $+functions[$command] )) && $command
}
"""
_TAIL = r"""
# Loaded from a folder of $fpath, this file is the function; sourced, it only defines it.
if [[ $funcstack[1] == _palaver ]]; then
    _palaver "$@"
else
    compdef _palaver palaver
fi
"""


def script(root: CommandNode) -> str:
    return "\n".join([_HEAD, *(line for node in root.walk() for line in _function(node)), _TAIL.lstrip()])


def _function(node: CommandNode) -> Iterator[str]:
    name = "_".join(("_palaver", *node.path))
    specs = [spec for option in node.options for spec in _option_specs(option)]
    yield f"{name}() {{"
    if not node.path:
        yield "    local palaver_program=${words[1]/#\\~/$HOME}"
    if node.commands:
        specs += ["':command:->command'", "'*::argument:->argument'"]
        yield '    local curcontext="$curcontext" state line'
        yield "    local -a commands"
    else:
        specs += _argument_specs(node)
    # -A: options after a command belong to the command, even if palaver itself has them too.
    yield "    _arguments -C -s -S -A '-*' \\" if node.commands else "    _arguments -s -S \\"
    yield " \\\n".join(f"        {spec}" for spec in specs)
    if node.commands:
        yield "    case $state in"
        yield "    command)"
        yield "        commands=("
        described = [f"{child.path[-1]}:{_escaped(child.summary, ':')}" for child in node.commands]
        yield from (f"            {_quoted(entry)}" for entry in described)
        yield "        )"
        yield "        _describe -V command commands ;;"
        yield f"    argument) __palaver_command {name} ;;"
        yield "    esac"
    yield "}"
    yield ""


def _option_specs(option: Option) -> Iterator[str]:
    """Yield one specification for each name of an option; zsh offers a name again only if it can be repeated."""
    excluded = "*" if option.can_repeat else f"({' '.join(option.names)})"
    for name in option.names:
        spec = f"{excluded}{name}"
        if option.values is not None:
            spec += "=" if name.startswith("--") else "+"
        spec += f"[{_escaped(option.help, '[]')}]"
        if option.values is not None:
            spec += f":{_escaped(option.metavar, ':')}:{_action(option.values)}"
        yield _quoted(spec)


def _argument_specs(node: CommandNode) -> Iterator[str]:
    for index, argument in enumerate(node.arguments):
        is_rest = index == len(node.arguments) - 1 and node.is_last_repeated
        place = "*" if is_rest else str(index + 1)
        yield _quoted(f"{place}:{_escaped(argument.metavar, ':')}:{_action(argument.values)}")


def _action(values: Values) -> str:
    choices = f"({' '.join(values.choices)})" if values.choices else ""
    if choices and values.files:
        return f'{{_alternative "names:name:{choices}" "files:file:_files"}}'
    if values.archive:
        # The space keeps zsh from inserting its own arguments.
        return f" __palaver_values {values.archive}"
    return choices or ("_files" if values.files else " ")


def _escaped(text: str, marks: str) -> str:
    return "".join(f"\\{mark}" if mark in f"{marks}\\" else mark for mark in text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
