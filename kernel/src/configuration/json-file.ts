import { readFile } from 'node:fs/promises'
import { isAbsolute, relative } from 'node:path'
import {
  type JSONPath,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
  visit,
} from 'jsonc-parser'
import { ConfigurationError } from './error.ts'
import { type Branch, formatKey, type Origin, type Path, refuseDeep, type Tree } from './tree.ts'

/** One configuration file, without its presets. */
export interface JsonFile {
  readonly file: string
  readonly label: string
  readonly tree: Branch
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder, not a file',
  EACCES: 'may not be read by this user',
}

/**
 * Reads a JSON file with comments and trailing commas.
 *
 * @param namedBy the setting that names the file, for the error message
 * @throws ConfigurationError when the file is missing, unreadable, malformed, or names a key twice
 */
export async function readJsonFile(
  file: string,
  workingDirectory: string,
  namedBy: string,
): Promise<JsonFile> {
  const label = fileLabel(file, workingDirectory)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const reason = reasons[error.code ?? ''] ?? `cannot be read (${error.code})`
    throw new ConfigurationError([
      `The configuration file ${label} ${reason}. It is named by ${namedBy}: correct the path there.`,
    ])
  })
  return { file, label, tree: parse(text.replace(/^\uFEFF/, ' '), file, label) }
}

/** Names a file for people: relative to the working directory when the file is below it, otherwise absolute. */
export function fileLabel(file: string, workingDirectory: string): string {
  const path = relative(workingDirectory, file)
  return path === '' || path.startsWith('..') || isAbsolute(path) ? file : path
}

function parse(text: string, file: string, label: string): Branch {
  const origin = originsOf(text, file, label)
  const refuseDeeper = (offset: number, at: JSONPath) => refuseDeep(at, () => origin(offset))
  // The parser of the tree calls itself for each level.
  visit(text, {
    onObjectBegin: (offset, _length, _line, _character, pathOf) => refuseDeeper(offset, pathOf()),
    onArrayBegin: (offset, _length, _line, _character, pathOf) => refuseDeeper(offset, pathOf()),
  })
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const first = errors[0]
  if (first) {
    // `CommaExpected` becomes `comma expected`.
    const reason = printParseErrorCode(first.error)
      .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
      .toLowerCase()
    throw new ConfigurationError([`${label}:${line(origin(first.offset))} is not valid JSON: ${reason}.`])
  }
  if (root?.type !== 'object') {
    throw new ConfigurationError([`${label} must contain one JSON object: { … }.`])
  }
  const problems: string[] = []
  const tree = build(root, [], origin, problems)
  if (problems.length > 0) throw new ConfigurationError(problems)
  return tree as Branch
}

function build(node: Node, path: Path, origin: (offset: number) => Origin, problems: string[]): Tree {
  const children = node.children ?? []
  if (node.type === 'array') {
    const items = children.map((child, index) => build(child, [...path, index], origin, problems))
    return { kind: 'list', items, origin: origin(node.offset) }
  }
  if (node.type !== 'object') return { kind: 'leaf', value: node.value, origin: origin(node.offset) }
  const entries = new Map<string, Tree>()
  for (const property of children) {
    const [name, value] = property.children ?? []
    if (!name || !value) continue
    const at = [...path, String(name.value)]
    const before = entries.get(String(name.value))
    if (before) problems.push(twice(at, line(before.origin), origin(name.offset)))
    entries.set(String(name.value), build(value, at, origin, problems))
  }
  return { kind: 'branch', entries, origin: origin(node.offset) }
}

function twice(path: Path, first: number, second: Origin): string {
  const label = second.kind === 'file' ? second.label : ''
  return `${formatKey(path)} is written twice in ${label}, in lines ${first} and ${line(second)}. Keep one of them.`
}

function originsOf(text: string, file: string, label: string): (offset: number) => Origin {
  const breaks: number[] = []
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) breaks.push(at)
  return (offset) => {
    const before = breaks.findIndex((at) => at >= offset)
    return { kind: 'file', file, label, line: (before === -1 ? breaks.length : before) + 1 }
  }
}

function line(origin: Origin): number {
  return origin.kind === 'file' ? origin.line : 0
}
