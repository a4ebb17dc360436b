import { defaultOrigin, type Origin } from './origin.ts'

/** Configuration before validation: JSON whose every part knows where it comes from. */
export type Tree = Branch | List | Leaf

/** An object. Its keys live in a map, where `__proto__` is a key like any other. */
export interface Branch {
  readonly kind: 'branch'
  readonly entries: ReadonlyMap<string, Tree>
  readonly origin: Origin
}

/** An array. */
export interface List {
  readonly kind: 'list'
  readonly items: readonly Tree[]
  readonly origin: Origin
}

/** A string, number, boolean, null, or whatever else an embedding program put there. */
export interface Leaf {
  readonly kind: 'leaf'
  readonly value: unknown
  readonly origin: Origin
}

/** Keys and indexes from the top level down to a value. */
export type Path = readonly (string | number)[]

/** An object without keys. */
export const emptyBranch: Branch = { kind: 'branch', entries: new Map(), origin: defaultOrigin }

/** The tree of a plain value. Keys that are `undefined` are left out. */
export function treeOf(value: unknown, origin: (path: Path) => Origin, path: Path = []): Tree {
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

/** The plain value of a tree: a copy, so that a change to it changes nothing here. */
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

/** A tree that holds one value at a path of keys. */
export function treeAt(keys: readonly string[], tree: Tree): Tree {
  return keys.reduceRight<Tree>(
    (child, key) => ({ kind: 'branch', entries: new Map([[key, child]]), origin: child.origin }),
    tree,
  )
}

/** What a key or index of a tree holds. */
export function childOf(tree: Tree, key: string | number): Tree | undefined {
  if (tree.kind === 'branch') return tree.entries.get(String(key))
  return tree.kind === 'list' ? tree.items[Number(key)] : undefined
}

/** The object under a key, or an empty one when there is none. Anything else under the key is returned as it is. */
export function sectionOf(tree: Tree, key: string): Tree {
  return childOf(tree, key) ?? emptyBranch
}

/** The origin of the value at a path, or of the closest part above it that exists. */
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
