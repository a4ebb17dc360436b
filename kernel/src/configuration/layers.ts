import { resolve } from 'node:path'
import { refuse } from './error.ts'
import { formatKey } from './key.ts'
import { mergeAll } from './merge.ts'
import { describeOrigin, flagOrigin } from './origin.ts'
import { expandPlugins } from './plugin-entries.ts'
import { layersOfFile, layersOfObject } from './presets.ts'
import type { ConfigurationSources } from './sources.ts'
import { emptyBranch, type Tree, treeOf, visit } from './tree.ts'

/** What the files (or an object in place of them) and the flags say, merged each. */
export interface WrittenLayers {
  readonly files: Tree
  readonly flags: Tree
}

/**
 * Reads files and flags.
 *
 * @throws ConfigurationError when a file cannot be read, or a key would reach into the runtime
 */
export async function readLayers(sources: ConfigurationSources): Promise<WrittenLayers> {
  const files = mergeAll((await fileLayers(sources)).map(expandPlugins))
  const flags = expandPlugins(treeOf(sources.flags, (path) => flagOrigin(formatKey(path))))
  refuse([...forbiddenKeys(files), ...forbiddenKeys(flags)])
  return { files, flags }
}

async function fileLayers({ file, inline, workingDirectory }: ConfigurationSources): Promise<Tree[]> {
  if (inline !== undefined) {
    const tree = treeOf(inline, () => ({ kind: 'inline' }))
    const branch = tree.kind === 'branch' ? tree : emptyBranch
    return layersOfObject(branch, workingDirectory, workingDirectory)
  }
  return file === null ? [] : layersOfFile(resolve(workingDirectory, file), workingDirectory)
}

const forbidden: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** One line for each key that would be dangerous in an object of the runtime. */
export function forbiddenKeys(tree: Tree, above: readonly string[] = []): string[] {
  const problems: string[] = []
  visit(tree, (part, path) => {
    if (!forbidden.has(String(path.at(-1)))) return
    const key = formatKey([...above, ...path])
    problems.push(`${key} (${describeOrigin(part.origin)}) has a name that cannot be used. Rename the key.`)
  })
  return problems
}
