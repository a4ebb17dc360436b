import type { Path } from './tree.ts'

const plainKey = /^[A-Za-z_$][\w$-]*$/

/** A path in words: `storage.maxFileSize`, `storage.mounts["/"]`, `server.trustedProxies[0]`. */
export function formatKey(path: Path): string {
  return path
    .map((key, depth) => {
      if (typeof key === 'number') return `[${key}]`
      if (!plainKey.test(key)) return `[${JSON.stringify(key)}]`
      return depth === 0 ? key : `.${key}`
    })
    .join('')
}

/** The path that a JSON pointer names (RFC 6901). */
export function parsePointer(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}
