import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import parse from 'npm-package-arg'

/*
 * npm's own libraries, since a release has no npm, and npm beside a Node may be of any age. They are loaded at their first use: they are
 * large, and few commands need them.
 */

/** A package that is installed in a folder of its own. */
export interface InstalledPackage {
  readonly name: string
  readonly version: string
  readonly description: string
  /** Where it comes from: the specification of npm, such as `^1.2.0` or `file:../notes.tgz`. */
  readonly spec: string
  /** The absolute path of the package. */
  readonly folder: string
}

/** A package that was installed just now. */
export interface NewPackage extends InstalledPackage {
  /** The number of other packages that it needs. */
  readonly needed: number
}

/** The newest version of a package in its registry. */
interface NewestPackage {
  readonly version: string
  /** The range of SDK versions that it works with; `null` if it is no plugin. */
  readonly sdk: string | null
}

const fromRegistry: ReadonlySet<string> = new Set(['version', 'range', 'tag'])
const fromTarball: ReadonlySet<string> = new Set(['file', 'remote'])

/** A tarball in a folder of the working directory, such as `dist/x.tgz`. npm takes it for a repository of GitHub. */
const pathLikeRepository = /^[\w.-]+\/[^/:]+\.(tgz|tar\.gz|tar)$/i

/**
 * Installs a package and its dependencies into a folder, which it makes. No script of a package runs. The SDK is a peer dependency of
 * plugins, and peers are not installed: every plugin gets the SDK of the node.
 *
 * @param given the name of a package with or without a version, or the path or the URL of a tarball. A path starts at the working directory.
 * @param cache an empty folder, which may be removed afterwards
 * @throws Error if the specification is of another kind; errors of the registry and the file system
 */
export async function installPackage(given: string, folder: string, cache: string): Promise<NewPackage> {
  const spec = pathLikeRepository.test(given) ? `./${given}` : given
  const { type, saveSpec } = parse(spec, process.cwd())
  if (!fromRegistry.has(type) && !fromTarball.has(type))
    throw new Error(
      `"${spec}" is neither a package of a registry nor a tarball (.tgz). For a folder, write "plugins": { "ID": { "from": "FOLDER" } } into the configuration.`,
    )
  const { Arborist } = await import('@npmcli/arborist')
  const settings = await settingsOfNpm(cache)
  const wanted = type === 'file' && saveSpec !== null ? saveSpec : spec
  await mkdir(folder, { recursive: true })
  const { inventory } = await new Arborist({ ...settings, path: folder }).reify({ add: [wanted] })
  // The inventory has the folder and the package itself, too.
  return { ...(await readInstalled(folder)), needed: inventory.size - 2 }
}

/** Reads the package that {@link installPackage} has installed. */
export async function readInstalled(folder: string): Promise<InstalledPackage> {
  const { dependencies } = await readPackage(folder)
  const [[name, spec] = ['', '']] = Object.entries((dependencies ?? {}) as Record<string, string>)
  const path = join(folder, 'node_modules', name)
  const { version, description } = await readPackage(path)
  return {
    name,
    version: String(version),
    description: typeof description === 'string' ? description : '',
    spec,
    folder: path,
  }
}

/** @returns `null` for a package that comes from a tarball */
export async function newestOf(
  { name, spec }: InstalledPackage,
  cache: string,
): Promise<NewestPackage | null> {
  if (!fromRegistry.has(parse(`${name}@${spec}`, process.cwd()).type)) return null
  const { default: pacote } = await import('pacote')
  const options = { ...(await settingsOfNpm(cache)), fullMetadata: true }
  const { version, nodekeep } = await pacote.manifest(`${name}@latest`, options)
  return { version, sdk: typeof nodekeep?.sdk === 'string' ? nodekeep.sdk : null }
}

async function readPackage(folder: string): Promise<Readonly<Record<string, unknown>>> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}

/** Reads the settings of this user as npm does: registries, their keys, proxies, from variables and the files `.npmrc`. */
async function settingsOfNpm(cache: string): Promise<Readonly<Record<string, unknown>>> {
  const [{ default: Config }, { default: definitions }] = await Promise.all([
    import('@npmcli/config'),
    import('@npmcli/config/lib/definitions/index.js'),
  ])
  const config = new Config({
    ...definitions,
    npmPath: fileURLToPath(new URL('../..', import.meta.url)),
    argv: [],
    // It sets variables for scripts.
    env: { ...process.env },
    warn: false,
  })
  await config.load()
  return {
    ...config.flat,
    // The account of a service has no home folder for npm's own cache.
    cache,
    ignoreScripts: true,
    // A dependency must neither run git nor ssh, with this user's keys, nor bring in files of this machine.
    allowGit: 'none',
    allowDirectory: 'none',
    allowFile: 'root',
    legacyPeerDeps: true,
    omit: ['dev', 'peer'],
    installStrategy: 'hoisted',
    save: true,
    packageLock: true,
    packageLockOnly: false,
    dryRun: false,
    global: false,
    audit: false,
  }
}
