/** The content of files by path, `null` for folders. The root is not included. */
export type Tree = ReadonlyMap<string, string | null>

/** One change, as a client requests it. The bytes of a file are its `content`, repeated. */
export type Change =
  | { readonly op: 'write'; readonly path: string; readonly content: string; readonly asForm: boolean }
  | { readonly op: 'mkdir' | 'delete'; readonly path: string }
  | { readonly op: 'move'; readonly path: string; readonly source: string }

/** Returns the tree after a change, or `null` if the change is impossible. */
export function changed(tree: Tree, change: Change): Tree | null {
  const { op, path } = change
  const next = new Map(tree)
  if (op === 'delete') {
    if (!tree.has(path)) return null
    for (const [key] of within(tree, path)) next.delete(key)
    return next
  }
  if (parentsOf(path).some((parent) => typeof tree.get(parent) === 'string')) return null
  if (op === 'move') {
    const { source } = change
    if (!tree.has(source) || isWithin(path, source) || isWithin(source, path)) return null
    for (const [key] of [...within(tree, path), ...within(tree, source)]) next.delete(key)
    for (const [key, value] of within(tree, source)) next.set(path + key.slice(source.length), value)
  } else {
    const there = tree.get(path)
    if (op === 'write' ? there === null : typeof there === 'string') return null
    next.set(path, op === 'write' ? change.content : null)
  }
  for (const parent of parentsOf(path)) next.set(parent, null)
  return next
}

export function within(tree: Tree, folder: string): [string, string | null][] {
  return [...tree].filter(([key]) => isWithin(key, folder))
}

/** Returns a tree as text, for messages. */
export function print(tree: Tree): string {
  return JSON.stringify([...tree].sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/** Returns the folders above a path, outer ones first. */
export function parentsOf(path: string): string[] {
  const segments = path.split('/').slice(1, -1)
  return segments.map((_, index) => `/${segments.slice(0, index + 1).join('/')}`)
}
