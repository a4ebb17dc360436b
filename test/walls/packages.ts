import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * The kind of a package, which decides what it may import. An example is a plugin, or a client: a program that calls a
 * node. A scaffold makes plugins for people.
 */
export type PackageKind = 'root' | 'sdk' | 'kernel' | 'plugin' | 'example' | 'client' | 'scaffold'

/** The parts of a package.json that the walls read. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly workspaces?: readonly string[]
  /** The file of each command. */
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly imports?: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly files?: readonly string[]
  readonly nodekeep?: {
    readonly id?: string
    readonly sdk?: string
    readonly entry?: string
    readonly source?: string
  }
}

/** A package of the repository. */
export interface Package {
  readonly kind: PackageKind
  /** The folder from the root, `/`-separated; empty for the root itself. */
  readonly folder: string
  readonly manifest: Manifest
}

/** Reads the root and every workspace of a repository. The root comes last. */
export function readPackages(root: string): Package[] {
  const rootManifest = readManifest(root)
  const patterns = (rootManifest.workspaces ?? []).map((folder) => `${folder}/package.json`)
  const manifests = globSync(patterns, { cwd: root, withFileTypes: false })
  const workspaces = manifests
    .map((manifest) => dirname(manifest).replaceAll('\\', '/'))
    .sort()
    .map((folder) => {
      const manifest = readManifest(join(root, folder))
      return { kind: kindOf(folder, manifest), folder, manifest }
    })
  return [...workspaces, { kind: 'root', folder: '', manifest: rootManifest }]
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

function kindOf(folder: string, { nodekeep }: Manifest): PackageKind {
  if (folder === 'plugin-sdk') return 'sdk'
  if (folder === 'kernel') return 'kernel'
  if (folder.startsWith('create-')) return 'scaffold'
  if (folder.startsWith('plugins/')) return 'plugin'
  return nodekeep === undefined ? 'client' : 'example'
}
