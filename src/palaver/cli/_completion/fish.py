"""The script for fish: one `complete` for each option and argument, for the place of its command in the line."""

from collections.abc import Iterator

from palaver.cli._completion.command_line import CommandNode, Option, Values

_HEAD = r"""# Completion of palaver for fish; `palaver completion fish` prints it.

# Succeeds if the line has come to this command, and to this argument of it (or a later one, with `or_later`).
function __palaver_at --argument-names wanted position or_later
    set -l words (commandline -opc)
    set -l path
    set -l arguments 0
    set -l is_value no
    set -l is_ended no
    for word in $words[2..-1]
        if test $is_value = yes
            set is_value no
        else if test $is_ended = no; and test "$word" = --
            set is_ended yes
        else if test $is_ended = no; and string match -q -- '-*' $word
            contains -- (string trim -- "$path $word") $__palaver_options_with_values; and set is_value yes
        else if contains -- (string trim -- "$path $word") $__palaver_commands
            set path (string trim -- "$path $word")
        else
            set arguments (math $arguments + 1)
        end
    end
    test "$path" = "$wanted"; or return 1
    test -z "$position"; or test $arguments -eq $position; and return 0
    test -n "$or_later"; and test $arguments -gt $position
end

# Prints values of the archive: the newest or most frequent first, with what describes them.
function __palaver_values --argument-names kind
    set -l words (commandline -opc)
    set -l program (string replace -r -- '^~' $HOME $words[1])
    set -l typed (commandline -ct | string replace -r -- '^--[^=]+=' '' | string replace -r -- '^["\']' '')
    $program complete-values $kind (string unescape -- "$typed") 2>/dev/null
end

"""


def script(root: CommandNode) -> str:
    nodes = list(root.walk())
    paths = [" ".join(node.path) for node in nodes if node.path]
    with_values = [
        " ".join((*node.path, name))
        for node in nodes
        for option in node.options
        if option.values is not None
        for name in option.names
    ]
    lines = [
        f"set -g __palaver_commands {' '.join(map(_quoted, paths))}",
        f"set -g __palaver_options_with_values {' '.join(map(_quoted, with_values))}",
        "",
        "complete -c palaver -f",
    ]
    for node in nodes:
        lines += _completions(node)
    return _HEAD + "\n".join(lines) + "\n"


def _completions(node: CommandNode) -> Iterator[str]:
    at = f"__palaver_at {_quoted(' '.join(node.path))}"
    for command in node.commands:
        yield _complete(f"{at} 0", f"-a {command.path[-1]}", f"-d {_quoted(command.summary)}")
    for option in node.options:
        names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
        # A flag with an opposite (`--agents`, `--no-agents`) is two options here.
        for long_name in [names] if option.values is not None or len(names) == 1 else _alternatives(names):
            yield _complete(at, *long_name, *_values(option), f"-d {_quoted(option.help)}")
    for index, argument in enumerate(node.arguments):
        is_rest = index == len(node.arguments) - 1 and node.is_last_repeated
        place = f"{at} {index}{' or_later' if is_rest else ''}"
        if written := _offered(argument.values):
            yield _complete(place, *written)


def _complete(condition: str, *rest: str) -> str:
    return " ".join(("complete -c palaver", f"-n {_quoted(condition)}", *rest))


def _alternatives(names: list[str]) -> list[list[str]]:
    """Return names that mean the same together, several long names each for themselves."""
    longs = [name for name in names if name.startswith("-l")]
    shorts = [name for name in names if name.startswith("-s")]
    return [[longs[0], *shorts], *([name] for name in longs[1:])] if longs else [names]


def _values(option: Option) -> list[str]:
    if option.values is None:
        return []
    return ["-r", *(_offered(option.values) or ["-f"])]


def _offered(values: Values) -> list[str]:
    options: list[str] = ["-F" if values.files else "-f"] if values != Values() else []
    if values.archive:
        options += ["-k", f"-a '(__palaver_values {values.archive})'"]
    elif values.choices:
        options += [f"-a {_quoted(' '.join(values.choices))}"]
    return options


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
