"""Read the grammar of bash, with tree-sitter-bash (the extra `holdfast[shell]`)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import tree_sitter_bash
from tree_sitter import Language, Parser

from holdfast.process.shell.command import Command
from holdfast.process.shell.reading import Output
from holdfast.process.shell.words import WHOLE, Word, unescape, word

if TYPE_CHECKING:
    from tree_sitter import Node

    from holdfast.process.shell.reading import Reading

_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ue000]|(?![ \t\n])\s")
"""Characters that bash and the parser may see differently; and the one that stands for a substitution here."""
_SUBSTITUTION = "\ue000"
_SUBSTITUTIONS = ("command_substitution", "process_substitution")
_REDIRECTS = ("file_redirect", "herestring_redirect", "heredoc_redirect")
_COMMANDS = ("command", "declaration_command", "unset_command")
_TEXTS = ("string", "translated_string", "heredoc_body", "expansion")
_LITERAL = ("raw_string", "ansi_c_string", "comment")
_ATOMS = ("expansion", "arithmetic_expansion", "array", *_SUBSTITUTIONS)
_IN_WORDS = frozenset(
    (
        *("command_name", "variable_assignment", "variable_name", "word", "number", "concatenation", "string"),
        *("raw_string", "ansi_c_string", "translated_string", "simple_expansion", "brace_expression", "heredoc_start"),
        *("extglob_pattern", "$", *_ATOMS),
    )
)
_HAVE_WORDS = (*_COMMANDS, *_REDIRECTS, "for_statement", "case_statement", "case_item", "function_definition", "array")
_ONE_LINE = (*_COMMANDS, "file_redirect", "herestring_redirect", "redirected_statement", "variable_assignment")
_NESTED = re.compile(rb"(?<!\\)((?:\\\\)*)(`|\$\(|[<>]\()")
_DELIMITERS = (b"", *(bytes([each]) for each in b" \t\n;&|<>()`"))
_OWN_PROCESS = ("subshell", "pipeline", *_SUBSTITUTIONS)


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


class Walk:
    """A walk through the tree of one script, which adds its commands to a reading."""

    def __init__(self, reading: Reading, text: str, inside: tuple[str, ...], sure: bool) -> None:
        """Parse the script.

        Args:
            reading: where the commands go.
            text: the script.
            inside: what runs it (`Command.inside`).
            sure: whether exactly this runs.
        """
        self._source = text.encode("utf-8", "replace")
        self._root = _parser().parse(self._source).root_node
        self._reading, self._text, self._inside = reading, text, inside
        self._readable = not self._root.has_error and not _ODD.search(text) and self._complete(self._root)
        self._readable = self._readable and all(self._seen(*found.span(2)) for found in _NESTED.finditer(self._source))
        self._sure = sure and self._readable
        self._late: dict[int, list[Node]] = {}  # redirections that the parser puts after a pipeline or list, by command

    def all(self) -> None:
        """Add all commands; if some of the text can't be read, that as well, and none of them is sure."""
        if not self._readable:
            self._reading.found.append(Command(self._text, inside=self._inside))
        self._visit(self._root, None)

    def _complete(self, node: Node) -> bool:
        """Return whether bash has the same words as the nodes below one; the parser loses or joins some silently."""
        end, whole = (node.start_byte, node.end_byte) if node.parent else (0, len(self._source))
        for child in node.children:
            gap = "" if node.type in _TEXTS else self._between(end, child.start_byte)
            dash = gap == "-" and child.type == "heredoc_redirect"
            joined = "\n" in gap and node.type in _ONE_LINE
            glued = child.type == "comment" and self._source[: child.start_byte][-1:] not in _DELIMITERS  # `[ a ]#; b`
            regex = child.type == "=~" and node.type == "command"  # the parser takes all up to a blank for one word
            if (gap.strip("\n \t") and not dash) or joined or glued or regex or not self._complete(child):
                return False
            end = child.end_byte
        if node.children and node.type not in _TEXTS and self._between(end, whole).strip("\n \t"):
            return False
        if node.type == "command_substitution" and re.match(r"`.*\\[$`\\]", self._slice(node), re.DOTALL):
            return False  # bash unescapes it before it reads it
        if node.type == "expansion" and self._slice(node).endswith("@P}"):
            return False  # substitutes in a variable's value
        kinds = _IN_WORDS if node.type in _HAVE_WORDS else ("variable_assignment",)
        words = [child for child in node.children if child.type in kinds]
        return all(map(self._is_word, self._groups(words)))

    def _is_word(self, parts: list[Node]) -> bool:
        """Return whether bash takes adjacent parts for one word."""
        text, _ = self._masked(parts, _ATOMS)
        end = parts[-1].end_byte
        while self._source.startswith(b"\\\n", end):
            end += 2
        after = self._source[end : end + 1]
        descriptor = after in (b"<", b">") and re.fullmatch(r"\d+|\{\w+\}", text)
        glued = len(parts) > 1 and parts[0].type in ("variable_assignment", "heredoc_start")
        return WHOLE.fullmatch(text) is not None and after in _DELIMITERS and not descriptor and not glued

    def _seen(self, begin: int, end: int) -> bool:
        """Return whether the parser knows that a substitution begins or ends at a place, or that it is only text."""
        node, kinds, quoted = self._root.descendant_for_byte_range(begin, end), [], False
        token = self._source[begin:end].decode()
        while node and node.type not in _SUBSTITUTIONS:
            kinds.append(node.type)
            quoted |= node.type == "heredoc_redirect" and self._quoted(node)
            node = node.parent
        if not kinds or kinds[0] in (token, "$(("):
            return bool(kinds)
        text = any(each in kinds for each in _TEXTS if each != "expansion")
        if kinds[0] in _LITERAL:
            evaluated = "test_command" in kinds or "arithmetic_expansion" in kinds  # `[[ -v 'a[$(b)]' ]]`
            return not evaluated and not (text and "expansion" in kinds)  # in `"${a:-'$(b)'}"`, ' doesn't quote
        return text and (quoted or token in ("<(", ">("))

    def _between(self, begin: int, end: int) -> str:
        return self._source[begin:end].replace(b"\\\n", b"").decode("utf-8", "replace").strip(" \t")

    def _visit(self, node: Node, stdin: Output | None) -> Output | None:
        """Add the commands below a node. Return what the last one prints if that is all that the node prints."""
        inside, folder = self._inside, self._reading.folder
        if node.type in _COMMANDS:
            return self._command(node, node, self._late.pop(node.id, []), stdin)
        if node.type == "redirected_statement":
            return self._redirected(node, stdin)
        if node.type in _SUBSTITUTIONS:
            self._inside = (*inside, "<( )" if node.type == "process_substitution" else "$( )")
        elif node.type == "function_definition":
            self._inside = (*inside, "function")
        elif node.type == "file_redirect":
            return self._command(node, None, [node], None)
        elif node.type == "variable_assignment":
            return self._add(node, [], [node], [], None, [node])
        elif node.type == "test_command":
            return self._add(node, [Word(self._slice(node.children[0]))], [], [], None, [node])
        last, printing = stdin, 0
        for child in node.named_children:
            if child.type not in ("comment", "heredoc_body", "heredoc_end"):
                last = self._visit(child, last if node.type == "pipeline" else stdin)
                printing += 1
        self._inside = inside
        if node.type in _OWN_PROCESS:
            self._reading.folder = folder
        return last if node.type == "pipeline" or printing == 1 or not last else Output(last.command)

    def _redirected(self, node: Node, stdin: Output | None) -> Output | None:
        body = last = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if child.type in _REDIRECTS] + self._late.pop(node.id, [])
        while last and last.type in ("pipeline", "list", "negated_command"):
            last = last.named_children[-1]
        if body is None or body.type in _COMMANDS:
            output: Output | None = self._command(node, body, redirects, stdin)
        elif last and last.type in (*_COMMANDS, "redirected_statement"):
            self._late[last.id] = redirects
            output = self._visit(body, stdin)
        else:
            output = self._visit(body, self._stdin(redirects, stdin))
            if any(each.type == "file_redirect" for each in redirects):
                self._command(node, None, redirects, None)
        # The rest of the line is within the redirection: `cat <<EOF | sh`, `cat <<EOF && ls`.
        for each in redirects:
            for part in each.named_children if each.type == "heredoc_redirect" else ():
                if part.type == "pipeline":
                    output = self._visit(part, output)
                elif part == each.child_by_field_name("right"):
                    self._visit(part, None)
        return output

    def _command(self, whole: Node, node: Node | None, redirects: list[Node], stdin: Output | None) -> Output:
        """Add a command with its redirections; what follows a redirection's target is a word of the command."""
        children = node.children if node else []
        simple = node is not None and node.type == "command"
        assignments = [child for child in children if simple and child.type == "variable_assignment"]
        redirects = [*redirects, *(child for child in children if child.type in _REDIRECTS)]
        redirects += [inner for each in redirects for inner in each.children if inner.type in _REDIRECTS]
        parts = [child for child in children if child not in assignments and child not in redirects]
        words: list[tuple[int, Word]] = []
        for each in redirects:
            if each.type != "heredoc_redirect":
                parts += _targets(each)[1]
                continue
            parts += each.children_by_field_name("argument")
            before = each.prev_sibling
            if before and self._between(before.end_byte, each.start_byte):
                words.append((each.start_byte, Word("-")))  # `python3 - <<EOF`: the parser loses it
        words = sorted([*words, *self._words(parts)])
        texts = [each for _, each in words]
        return self._add(whole, texts, assignments, redirects, stdin, [*parts, *assignments, *redirects])

    def _add(
        self,
        node: Node,
        words: list[Word],
        assignments: list[Node],
        redirects: list[Node],
        stdin: Output | None,
        parts: list[Node],
    ) -> Output:
        """Add a command, then the commands that are substituted in its parts."""
        reads: list[Word] = []
        writes: list[Word] = []
        for each in redirects:
            operator = next((child.type for child in each.children if not child.is_named), "")
            if each.type == "file_redirect" and (targets := _targets(each)[0]):
                target = self._word(targets)
                if operator not in (">&", "<&") or not re.fullmatch(r"\d*-?", target.text):
                    (reads if operator == "<" else writes).append(target)
        pairs = (self._slice(each).partition("=") for each in assignments)
        output = self._reading.add(
            self._slice(node),
            words,
            self._inside,
            self._sure,
            environment={name.rstrip("+"): word(value).text for name, _, value in pairs},
            reads=tuple(reads),
            writes=tuple(writes),
            stdin=self._stdin(redirects, stdin),
        )
        inner = [found for part in parts for found in _outermost(part, _SUBSTITUTIONS)]
        for found in sorted(inner, key=lambda each: each.start_byte):
            self._visit(found, None)
        return output

    def _stdin(self, redirects: list[Node], stdin: Output | None) -> Output | None:
        """Return a command's input, which redirections may replace."""
        found = []
        for each in redirects:
            operator = next((child.type for child in each.children if not child.is_named), "")
            descriptor = each.child_by_field_name("descriptor")
            if operator.startswith("<") and (descriptor is None or self._slice(descriptor) == "0"):
                found.append((operator, each))
        if not found:
            return stdin
        operator, each = found[0]
        if len(found) > 1 or each.type == "file_redirect":
            return Output(stdin.command if stdin else None, label="<" if operator == "<" and len(found) == 1 else "|")
        if each.type == "herestring_redirect":
            return Output(None, self._word(_targets(each)[0]), "<<")
        parts = {child.type: self._slice(child) for child in each.children}
        body = parts.get("heredoc_body", "")
        if "<<-" in parts:
            body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
        return Output(None, Word(body) if self._quoted(each) else Word(*unescape(body, "$`\\")), "<<")

    def _quoted(self, heredoc: Node) -> bool:
        """Return whether a here-document has no expansions."""
        starts = [self._slice(each) for each in heredoc.children if each.type == "heredoc_start"]
        return any(re.search(r"['\"\\]", each) for each in starts)

    def _words(self, parts: list[Node]) -> list[tuple[int, Word]]:
        """Return the words that parts make, with their places."""
        return [(group[0].start_byte, self._word(group)) for group in self._groups(parts)]

    def _groups(self, parts: list[Node]) -> list[list[Node]]:
        """Return parts by word; those without a space between them are one."""
        groups: list[list[Node]] = []
        for part in sorted(parts, key=lambda each: each.start_byte):
            gap = self._source[groups[-1][-1].end_byte : part.start_byte] if groups else b" "
            if not gap.replace(b"\\\n", b""):
                groups[-1].append(part)
            else:
                groups.append([part])
        return groups

    def _word(self, parts: list[Node]) -> Word:
        if not parts:
            return Word("", False)
        masked, found = self._masked(parts, _SUBSTITUTIONS)
        read, texts = word(masked), iter(found)
        text = re.sub(_SUBSTITUTION, lambda _: next(texts, ""), read.text)
        return Word(text, read.known and not found)

    def _masked(self, parts: list[Node], kinds: tuple[str, ...]) -> tuple[str, list[str]]:
        """Return the text of adjacent parts with one character for each node of some kinds, and those nodes' texts."""
        begin, end, text = parts[0].start_byte, parts[-1].end_byte, b""
        found = [each for part in parts for each in _outermost(part, kinds)]
        for each in found:
            text += self._source[begin : each.start_byte] + _SUBSTITUTION.encode()
            begin = each.end_byte
        return (text + self._source[begin:end]).decode("utf-8", "replace"), [self._slice(each) for each in found]

    def _slice(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _targets(redirect: Node) -> tuple[list[Node], list[Node]]:
    """Return a redirection's target, none if it closes a descriptor, and the words that follow it."""
    found = [each for each in redirect.named_children if each.type not in ("file_descriptor", *_REDIRECTS)]
    targets = 0 if any(each.type in (">&-", "<&-") for each in redirect.children) else 1
    return found[:targets], found[targets:]


def _outermost(node: Node, kinds: tuple[str, ...]) -> list[Node]:
    """Return the nodes of some kinds that aren't in another one, nor in a command that follows a here-document."""
    if node.type in kinds:
        return [node]
    if node.type in (*_COMMANDS, "pipeline", "list", "redirected_statement"):
        return []
    return [found for child in node.named_children for found in _outermost(child, kinds)]
