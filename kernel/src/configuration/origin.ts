import { isAbsolute, relative } from 'node:path'

/** The source of a value: a line of a file, a variable, a flag or a default. */
export type Origin =
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly label: string }
  | { readonly kind: 'inline' }
  | { readonly kind: 'environment'; readonly variable: string }
  | { readonly kind: 'flag'; readonly flag: string }
  | { readonly kind: 'default' }

/** The origin of values that no layer sets. */
export const defaultOrigin: Origin = { kind: 'default' }

/** The command line's own names for the keys that it can set. */
const flagNames: Readonly<Record<string, string>> = {
  'server.port': '--port',
  'server.host': '--host',
  data: '--data',
  'log.level': '--log-level',
}

/** The origin of a value given on the command line, by its dotted key. */
export function flagOrigin(key: string): Origin {
  return { kind: 'flag', flag: flagNames[key] ?? `the flag for ${key}` }
}

/** Names a file for people: relative to the working directory when the file is below it, otherwise absolute. */
export function fileLabel(file: string, workingDirectory: string): string {
  const path = relative(workingDirectory, file)
  return path === '' || path.startsWith('..') || isAbsolute(path) ? file : path
}

/** Writes the origin for people: `config/default.json:12`, `the variable PORT`, `--port`, `default`. */
export function describeOrigin(origin: Origin): string {
  switch (origin.kind) {
    case 'file':
      return `${origin.label}:${origin.line}`
    case 'inline':
      return 'the given configuration'
    case 'environment':
      return `the variable ${origin.variable}`
    case 'flag':
      return origin.flag
    case 'default':
      return 'default'
  }
}
