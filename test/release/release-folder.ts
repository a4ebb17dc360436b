import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { chmod, copyFile, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { ReleaseFile } from '@nodekeep/plugin-sdk/supervision'
import { extract } from 'tar'
import { root } from '../run/command.ts'
import { type Package, readPackages } from '../walls/packages.ts'
import type { BuildStamp } from './build-stamp.ts'
import { type LockFile, productionLibraries } from './production-libraries.ts'

/** The parts of a release that come from elsewhere. */
export interface ReleaseParts {
  /** The tarballs of the packages by their names, as `packWorkspaces` returns them. */
  readonly packages: ReadonlyMap<string, string>
  /** A file with the metadata of the role `root` in which updates trust. Without it, the release trusts in no repository. */
  readonly trustedRoot?: string
  /** Another version than that of the sources, for tests of updates. */
  readonly version?: string
  /**
   * `copy` takes the Node of `package.json` along. With `link`, the release runs only on this machine, with the Node of this
   * process, and is a fifth as large: for tests of updates.
   */
  readonly runtime?: 'copy' | 'link'
}

/** The systems that the Node of this process runs on. */
const platform = `${process.platform}-${process.arch}`

const content = fileURLToPath(new URL('content/', import.meta.url))
const kernelFolder = 'node_modules/@nodekeep/kernel'

/**
 * Puts together an unpacked release: the kernel, the SDK, all plugins, the libraries that they need, and the runtime. Nothing is
 * downloaded.
 *
 * @param folder becomes the folder of the release; it must be empty or missing
 */
export async function makeReleaseFolder(folder: string, parts: ReleaseParts): Promise<ReleaseFile> {
  const packages = readPackages(root).filter(({ kind }) => ['sdk', 'kernel', 'plugin'].includes(kind))
  await cp(content, folder, { recursive: true })
  await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  for (const entry of packages) await unpack(entry, folder, parts)
  await copyLibraries(folder, packages)
  await copyFile(join(root, 'plugins/update/bin/nodekeep-service'), join(folder, 'bin/nodekeep-service'))
  const node = parts.runtime === 'link' ? await linkRuntime(folder) : await copyRuntime(folder)
  if (parts.trustedRoot !== undefined) await copyFile(parts.trustedRoot, join(folder, 'trusted-root.json'))
  const described = await describe(folder, node, parts.version)
  await writeFile(join(folder, 'release.json'), `${JSON.stringify(described, null, 2)}\n`)
  await writeUnit(folder)
  return described
}

/** Files that no program loads: Node refuses TypeScript below node_modules, and source maps are for debuggers. */
const neverLoaded = /\.([cm]?tsx?|map)$/
/** Tests and benchmarks of libraries, and settings of the tools of their authors. */
const forAuthors = /^(test|benchmarks?|\..+)$/
/** Documents of libraries. Licenses stay; some libraries have theirs in the README. */
const document = /\.(md|markdown)$/i
const license = /^(licen[cs]e|copying|notice|third.?party)/i
const readme = /^readme/i

async function unpack({ manifest: { name } }: Package, folder: string, parts: ReleaseParts): Promise<void> {
  const file = parts.packages.get(name)
  if (file === undefined) throw new Error(`There is no tarball of ${name}. npm run pack makes it.`)
  const cwd = join(folder, 'node_modules', name)
  await mkdir(cwd, { recursive: true })
  extract({ file, cwd, strip: 1, strict: true, sync: true, filter: (path) => !neverLoaded.test(path) })
}

async function copyLibraries(folder: string, packages: readonly Package[]): Promise<void> {
  const lock: LockFile = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  for (const { from, to } of productionLibraries(root, lock, packages)) {
    const source = join(root, from)
    const nested = join(source, 'node_modules')
    const kept = (await readdir(source)).some((name) => license.test(name)) ? license : readme
    const isTaken = (path: string) => {
      const name = basename(path)
      if (path === nested || neverLoaded.test(name) || forAuthors.test(name)) return false
      return !document.test(name) || kept.test(name)
    }
    // The function that does not block takes three times the processor time.
    cpSync(source, join(folder, to), { recursive: true, filter: isTaken })
  }
}

/** Copies the program and the license of the Node that the repository pins. Returns its version. */
async function copyRuntime(folder: string): Promise<string> {
  const { optionalDependencies = {} } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const name = [`node-${platform}`, `node-bin-${platform}`].find((name) => name in optionalDependencies)
  if (name === undefined) throw new Error(`package.json names no Node for ${platform}.`)
  const from = join(root, 'node_modules', name)
  await mkdir(join(folder, 'runtime/bin'), { recursive: true })
  await copyFile(join(from, 'bin/node'), join(folder, 'runtime/bin/node'))
  await copyFile(join(from, 'LICENSE'), join(folder, 'runtime/LICENSE'))
  return JSON.parse(await readFile(join(from, 'package.json'), 'utf8')).version
}

async function linkRuntime(folder: string): Promise<string> {
  const file = join(folder, 'runtime/bin/node')
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `#!/bin/sh\nexec '${process.execPath.replaceAll("'", "'\\''")}' "$@"\n`)
  await chmod(file, 0o755)
  return process.versions.node
}

async function describe(folder: string, node: string, version: string | undefined): Promise<ReleaseFile> {
  const file = join(folder, kernelFolder, 'package.json')
  const kernel = JSON.parse(await readFile(file, 'utf8')) as { version: string; build: BuildStamp }
  if (version !== undefined) await writeFile(file, `${JSON.stringify({ ...kernel, version }, null, 2)}\n`)
  const sdk = JSON.parse(
    await readFile(join(folder, 'node_modules/@nodekeep/plugin-sdk/package.json'), 'utf8'),
  )
  return {
    version: version ?? kernel.version,
    platform,
    commit: kernel.build.commit,
    buildDate: kernel.build.date,
    node,
    sdk: sdk.version,
    schema: await schemaOf(folder),
  }
}

/** Asks the release itself, with its own Node. */
async function schemaOf(folder: string): Promise<ReleaseFile['schema']> {
  const module = pathToFileURL(join(folder, kernelFolder, 'dist/state/database-schema.js'))
  const program = `import { databaseSchema } from '${module}'
    console.log(JSON.stringify(databaseSchema.map(({ id, change }) => ({ id, change }))))`
  const node = join(folder, 'runtime/bin/node')
  return JSON.parse(await run(node, ['--input-type=module', '--eval', program]))
}

/** Writes the unit that "service install" installs, for people who install it by hand. */
async function writeUnit(folder: string): Promise<void> {
  const unit = await run(join(folder, 'bin/nodekeep'), ['service', 'install', '--print'])
  await mkdir(join(folder, 'systemd'))
  await writeFile(join(folder, 'systemd/nodekeep.service'), unit)
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { NODE_OPTIONS: _, ...env } = process.env
  return (await promisify(execFile)(program, args, { env })).stdout
}
