import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { filePathKeyword } from '@nodekeep/plugin-sdk/host'
import { childSchema, isFilePath, type JsonSchema } from '../validation/json-schema.ts'
import { type Origin, originAt, type Path, type Tree } from './tree.ts'

/** The folders at which relative paths start. */
export interface PathFolders {
  readonly workingDirectory: string
  /** The data folder: null while it is not known. */
  readonly data: string | null
}

/**
 * Returns the absolute path of a path of the configuration: one that a file names starts at the folder of that file, every other one
 * at the working directory, and those of a test node in its data folder. Paths of plugins started at the data folder before, so one
 * that is only there stays there.
 */
export function absolutePath(path: string, origin: Origin | undefined, folders: PathFolders): string {
  const { workingDirectory, data } = folders
  const before = resolve(data ?? workingDirectory, path)
  if (origin?.kind === 'inline') return before
  const absolute = resolve(origin?.kind === 'file' ? dirname(origin.file) : workingDirectory, path)
  return data !== null && !existsSync(absolute) && existsSync(before) ? before : absolute
}

/** Returns a schema that marks further keys as paths. */
export function withPaths(schema: JsonSchema, keys: Iterable<string>): JsonSchema {
  const marked = [...keys].map((key) => [key, { ...childSchema(schema, key), [filePathKeyword]: true }])
  return { ...schema, properties: { ...(schema.properties as object), ...Object.fromEntries(marked) } }
}

/** Makes the paths of a section absolute, in place: the texts that its schema marks as paths. */
export function makePathsAbsolute(
  value: unknown,
  tree: Tree,
  schema: JsonSchema,
  folders: PathFolders,
  above: Path = [],
): void {
  if (typeof value !== 'object' || value === null) return
  const holder = value as Record<string, unknown>
  for (const [key, child] of Object.entries(holder)) {
    const inner = childSchema(schema, Array.isArray(value) ? Number(key) : key)
    if (inner === undefined) continue
    const path = [...above, Array.isArray(value) ? Number(key) : key]
    if (typeof child !== 'string') makePathsAbsolute(child, tree, inner, folders, path)
    else if (isFilePath(inner)) holder[key] = absolutePath(child, originAt(tree, path), folders)
  }
}
