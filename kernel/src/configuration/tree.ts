import { ConfigurationError } from './error.ts'

/** The source of a value: a line of a file, a variable, a flag or a default. */
export type Origin =
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly label: string }
  | { readonly kind: 'inline' }
  | { readonly kind: 'environment'; readonly variable: string }
  | { readonly kind: 'flag'; readonly flag: string }
  | { readonly kind: 'default' }

/** Configuration before validation: JSON in which every part knows its origin. */
export type Tree = Branch | List | Leaf

/** An object. Its keys are in a map, where `__proto__` is a key like any other. */
export interface Branch {
  readonly kind: 'branch'
  readonly entries: ReadonlyMap<string, Tree>
  readonly origin: Origin
}

/** An array. */
interface List {
  readonly kind: 'list'
  readonly items: readonly Tree[]
  readonly origin: Origin
}

/** A string, number, boolean, null, or any other value that an embedding program passed. */
interface Leaf {
  readonly kind: 'leaf'
  readonly value: unknown
  readonly origin: Origin
}

/** Keys and indexes from the top level down to a value. */
export type Path = readonly (string | number)[]

/** An object without keys, which no layer sets. */
export const emptyBranch: Branch = { kind: 'branch', entries: new Map(), origin: { kind: 'default' } }

const plainKey = /^[A-Za-z_$][\w$-]*$/

/** Writes a path for people: `storage.maxFileSize`, `storage.mounts["/"]`, `server.trustedProxies[0]`. */
export function formatKey(path: Path): string {
  return path
    .map((key, depth) => {
      if (typeof key === 'number') return `[${key}]`
      if (!plainKey.test(key)) return `[${JSON.stringify(key)}]`
      return depth === 0 ? key : `.${key}`
    })
    .join('')
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

/** Writes a key with the origin of its value for people: `server.port (config/default.json:12)`. */
export function formatPlace(path: Path, origin: Origin): string {
  return `${formatKey(path)} (${describeOrigin(origin)})`
}

/** The maximum number of keys and indexes in a path. Whatever walks a tree calls itself for each level. */
const maxDepth = 100

/**
 * Refuses a value that is nested too deep.
 *
 * @throws ConfigurationError
 */
export function refuseDeep(path: Path, originOf: () => Origin): void {
  if (path.length <= maxDepth) return
  const place = formatPlace(path.slice(0, 3), originOf())
  throw new ConfigurationError([
    `${place} is nested deeper than ${maxDepth} levels. Write it in fewer levels.`,
  ])
}

/** Converts a plain value to a tree. Keys whose value is `undefined` are left out. */
export function treeOf(value: unknown, origin: (path: Path) => Origin, path: Path = []): Tree {
  refuseDeep(path, () => origin(path))
  if (Array.isArray(value)) {
    const items = value.map((item, index) => treeOf(item, origin, [...path, index]))
    return { kind: 'list', items, origin: origin(path) }
  }
  if (typeof value === 'object' && value !== null) {
    const present = Object.entries(value).filter(([, child]) => child !== undefined)
    const entries = present.map(([key, child]) => [key, treeOf(child, origin, [...path, key])] as const)
    return { kind: 'branch', entries: new Map(entries), origin: origin(path) }
  }
  return { kind: 'leaf', value, origin: origin(path) }
}

/** Converts a tree to a plain value. The value is a copy: changing it does not change the tree. */
export function plainValue(tree: Tree): unknown {
  switch (tree.kind) {
    case 'branch':
      return Object.fromEntries([...tree.entries].map(([key, child]) => [key, plainValue(child)]))
    case 'list':
      return tree.items.map(plainValue)
    case 'leaf':
      return tree.value
  }
}

/**
 * Lays one tree over another, as a JSON Merge Patch does (RFC 7396): objects merge key by key, `null` removes a key, and
 * everything else is replaced. Neither tree changes.
 */
export function merge(lower: Tree, upper: Tree): Tree {
  if (upper.kind !== 'branch') return upper
  const base = lower.kind === 'branch' ? lower : { entries: [], origin: upper.origin }
  const entries = new Map(base.entries)
  for (const [key, value] of upper.entries) {
    if (value.kind === 'leaf' && value.value === null) entries.delete(key)
    // A value without anything below is merged onto itself, which removes the nulls in it.
    else entries.set(key, merge(entries.get(key) ?? value, value))
  }
  return { kind: 'branch', entries, origin: upper.entries.size > 0 ? upper.origin : base.origin }
}

/** Lays trees over each other. Later trees win. */
export function mergeAll(layers: Iterable<Tree>): Tree {
  let result: Tree = emptyBranch
  for (const layer of layers) result = merge(result, layer)
  return result
}

/** Creates a tree that holds one value at a path of keys. */
export function treeAt(keys: readonly string[], tree: Tree): Tree {
  return keys.reduceRight<Tree>(
    (child, key) => ({ kind: 'branch', entries: new Map([[key, child]]), origin: child.origin }),
    tree,
  )
}

/** Returns the value at a key or an index of a tree. */
export function childOf(tree: Tree, key: string | number): Tree | undefined {
  if (tree.kind === 'branch') return tree.entries.get(String(key))
  return tree.kind === 'list' ? tree.items[Number(key)] : undefined
}

/** Returns the value at a key, or an empty object when the key is missing. */
export function sectionOf(tree: Tree, key: string): Tree {
  return childOf(tree, key) ?? emptyBranch
}

/** Returns the origin of the value at a path, or of the nearest parent that exists. */
export function originAt(tree: Tree, path: Path): Origin {
  let current = tree
  for (const key of path) {
    const child = childOf(current, key)
    if (child === undefined) break
    current = child
  }
  return current.origin
}

/** Calls back for every part of a tree, from the top down. */
export function visit(tree: Tree, each: (tree: Tree, path: Path) => void, path: Path = []): void {
  each(tree, path)
  if (tree.kind === 'branch') for (const [key, child] of tree.entries) visit(child, each, [...path, key])
  if (tree.kind === 'list') tree.items.forEach((item, index) => void visit(item, each, [...path, index]))
}
