import type { Package } from './packages.ts'
import type { SourceImports } from './program.ts'

/**
 * The side of a source file, by its folder below `src/`. `client` is code for programs outside of a node, and `browser` is
 * code for browsers. `protocol` is what they share with the code of the node, which is everything else.
 */
export type Side = 'node' | 'client' | 'browser' | 'protocol'

/** The sides from which the files of a side may import. */
export const reaches: Readonly<Record<Side, readonly Side[]>> = {
  node: ['node', 'protocol'],
  client: ['client', 'browser', 'protocol'],
  browser: ['browser', 'protocol'],
  protocol: ['protocol'],
}

/**
 * Returns a function that tells the side of a source file of a package. Only a package with code for clients or browsers
 * has sides: elsewhere a folder `protocol` is code of the node.
 */
export function sidesOf(files: readonly SourceImports[]): (owner: Package, file: string) => Side {
  const divided = new Set(
    files.flatMap(({ file }) => /^(.*)\/src\/(?:client|browser)\//.exec(file)?.[1] ?? []),
  )
  return ({ folder }, file) => {
    const side =
      divided.has(folder) &&
      file.startsWith(`${folder}/src/`) &&
      file.split('/')[folder.split('/').length + 1]
    return side === 'client' || side === 'browser' || side === 'protocol' ? side : 'node'
  }
}
