import type { Package } from './packages.ts'
import type { SourceImports } from './program.ts'

/**
 * The side of a source file, by its folder below `src/`. `client` is code for programs outside of a node, and `browser` is
 * code for browsers. `protocol` is what they share with the code of the node, which is everything else. `supervisor` is a program that
 * runs nodes: it knows no node, and the code of the node may read what it stores.
 */
export type Side = 'node' | 'client' | 'browser' | 'protocol' | 'supervisor'

const sideFolders: readonly string[] = ['client', 'browser', 'protocol', 'supervisor'] satisfies Side[]

/** The sides from which the files of a side may import. */
export const reaches: Readonly<Record<Side, readonly Side[]>> = {
  node: ['node', 'protocol', 'supervisor'],
  client: ['client', 'browser', 'protocol'],
  browser: ['browser', 'protocol'],
  protocol: ['protocol'],
  supervisor: ['supervisor'],
}

/**
 * Returns a function that tells the side of a source file of a package. Only a package with code for clients or browsers, or with a
 * supervisor, has sides: elsewhere a folder `protocol` is code of the node.
 */
export function sidesOf(files: readonly SourceImports[]): (owner: Package, file: string) => Side {
  const divided = new Set(
    files.flatMap(({ file }) => /^(.*)\/src\/(?:client|browser|supervisor)\//.exec(file)?.[1] ?? []),
  )
  return ({ folder }, file) => {
    if (!divided.has(folder) || !file.startsWith(`${folder}/src/`)) return 'node'
    const side = file.split('/')[folder.split('/').length + 1] ?? ''
    return sideFolders.includes(side) ? (side as Side) : 'node'
  }
}
