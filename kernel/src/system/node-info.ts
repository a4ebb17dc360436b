import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { NodeInfo } from '@nodekeep/plugin-sdk'
import manifest from '../../package.json' with { type: 'json' }
import { kernelVersion } from './kernel-version.ts'

/** The commit and the date that packing writes into the kernel's package.json (`test/release/build-stamp.ts`). */
interface BuildStamp {
  readonly commit: string | null
  /** In the form of ISO 8601. */
  readonly date: string
}

const kernelFolder = fileURLToPath(new URL('../..', import.meta.url))
const gitTimeoutMs = 2000

/** The build does not change while the process runs, so git is asked once. */
let build: Promise<BuildStamp | null> | undefined

/** The facts about a node that are known before it starts. */
export type NodeBuild = Omit<NodeInfo, 'command' | 'plugins' | 'absentPlugins' | 'isClaimed' | 'mayClaim'>

/** Describes the node of this process. */
export async function readNodeInfo(): Promise<NodeBuild> {
  const startedAt = new Date()
  const place = findPlace()
  build ??= findBuild(place)
  const stamp = await build
  return {
    version: kernelVersion,
    commit: stamp?.commit ?? null,
    buildDate: stamp === null ? null : new Date(stamp.date),
    startedAt,
    ...place,
  }
}

function findPlace(): Pick<NodeInfo, 'installation' | 'folder'> {
  if (import.meta.url.endsWith('.ts')) return { installation: 'sources', folder: join(kernelFolder, '..') }
  // The kernel of a release is <release>/node_modules/@nodekeep/kernel.
  const release = join(kernelFolder, '../../..')
  return existsSync(join(release, 'release.json'))
    ? { installation: 'release', folder: release }
    : { installation: 'packages', folder: join(kernelFolder, '.') }
}

async function findBuild({ installation, folder }: Pick<NodeInfo, 'installation' | 'folder'>) {
  return installation === 'sources'
    ? askGit(folder)
    : ((manifest as { readonly build?: BuildStamp }).build ?? null)
}

/** Returns `null` without git, and for sources that are no repository of their own. */
async function askGit(folder: string): Promise<BuildStamp | null> {
  const log = ['--git-dir', join(folder, '.git'), 'log', '-1', '--format=%H %cI']
  try {
    const { stdout } = await promisify(execFile)('git', log, { timeout: gitTimeoutMs, windowsHide: true })
    const [commit = '', date = ''] = stdout.trim().split(' ')
    return { commit, date }
  } catch {
    return null
  }
}
