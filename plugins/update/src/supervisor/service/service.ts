import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isThere, readManifest } from '../release-folder.ts'
import {
  foldersToMake,
  isInside,
  type ServicePlaces,
  serviceFolder,
  serviceUnit,
  unitFile,
} from './service-unit.ts'

/** The options of `nodekeep service install`. */
export interface InstallOptions extends Omit<ServicePlaces, 'releases'> {
  readonly releases?: string
  /** The folder that stands for `/`. */
  readonly root: string
  readonly print?: boolean
}

/** Writes lines to the standard output. Control characters are escaped. */
export type PrintLines = (lines: readonly string[]) => void

const packageFolder = fileURLToPath(new URL('../../..', import.meta.url))
const launcher = join(packageFolder, 'bin/nodekeep-service')
/** The package of a release is <release>/node_modules/@nodekeep/update. */
const releaseFolder = join(packageFolder, '../../..')

/**
 * `nodekeep service install`
 *
 * Nothing is written into the data folder: it belongs to the account of the node, which could redirect root by links.
 */
export async function install(
  { root, print, ...options }: InstallOptions,
  printLines: PrintLines,
): Promise<void> {
  const places = checked(options)
  const unit = serviceUnit(places)
  if (print === true) return void process.stdout.write(unit)
  refuseOtherSystems()
  if (!isThere(join(releaseFolder, 'release.json'))) {
    throw new Error(
      'This Nodekeep does not run from a release, so it cannot install a service. Unpack a release, and run its "bin/nodekeep service install". For sources, see examples/deploy.',
    )
  }
  const at = (path: string) => join(root, path)
  refuseConfigurationOfNode(places, at)
  await forPeopleWithRights(async () => {
    await makeReadable(at(serviceFolder))
    const first = at(join(serviceFolder, 'first'))
    const release = `nodekeep-${readManifest(releaseFolder).version}`
    const used = await targetsOf(
      first,
      at(join(places.releases, 'current')),
      at(join(places.releases, 'former')),
    )
    await copyRelease(releaseFolder, at(join(serviceFolder, release)))
    await pointTo(release, first)
    await removeReleases(at(serviceFolder), [release, ...used])
    await replaceFile(at(join(serviceFolder, 'nodekeep-service')), 0o755, (draft) =>
      copyFile(launcher, draft),
    )
    if (!isThere(at(places.config))) {
      await makeReadable(at(dirname(places.config)))
      await replaceFile(at(places.config), 0o644, (draft) =>
        writeFile(draft, '{\n  "extends": "nodekeep:default"\n}\n'),
      )
    }
    await makeReadable(at(dirname(unitFile)))
    await replaceFile(at(unitFile), 0o644, (draft) => writeFile(draft, unit))
  })
  printLines([
    `Written: ${at(unitFile)}, which runs ${at(join(serviceFolder, 'nodekeep-service'))}.`,
    `The configuration is ${places.config}, the data is in ${places.data}. Start the service, as root:`,
    '',
    ...commandsToStart(places).map((command) => `  ${command}`),
  ])
}

/** `nodekeep service uninstall` */
export async function uninstall({ root }: { readonly root: string }, printLines: PrintLines): Promise<void> {
  refuseOtherSystems()
  const unit = join(root, unitFile)
  if (!isThere(unit)) throw new Error(`No service is installed: there is no ${unit}.`)
  if (root === '/') {
    // It stops the service too. Without a running systemd there is nothing to stop.
    if (isThere('/run/systemd/system')) await run('systemctl', 'disable', '--now', 'nodekeep')
  }
  await forPeopleWithRights(async () => {
    await rm(unit)
    await rm(join(root, serviceFolder), { recursive: true, force: true })
  })
  printLines([`Removed: ${unit} and ${join(root, serviceFolder)}. The configuration and the data stay.`])
}

function refuseOtherSystems(): void {
  if (process.platform === 'linux') return
  throw new Error(
    'The service is one of systemd, which only Linux has. Let the service manager of this system run "bin/nodekeep supervise".',
  )
}

/** The node could put a link into the place of the file before root writes it. */
function refuseConfigurationOfNode(
  { config, data, releases }: ServicePlaces,
  at: (path: string) => string,
): void {
  if (isThere(at(config)) || ![data, releases].some((folder) => isInside(config, folder))) return
  throw new Error(
    `There is no ${config}, and root writes nothing into the folders of the node. Write the file yourself, as the account of the node, or name one in another folder with --config.`,
  )
}

function checked({ user, config, data, releases }: Omit<InstallOptions, 'root'>): ServicePlaces {
  if (!/^[a-z_][a-z0-9_-]*$/i.test(user)) throw new Error(`"${user}" is no name of an account.`)
  const path = (option: string, given: string) => {
    if (!isAbsolute(given))
      throw new Error(`${option} takes an absolute path, such as /srv/nodekeep, not "${given}".`)
    if (/[\s"'\\$%]/.test(given)) {
      throw new Error(
        `${option} has a path with white space, quotes, backslashes, "$" or "%", which mean something to systemd. Take another one.`,
      )
    }
    const clean = normalize(given).replace(/(.)\/$/, '$1')
    if (['/home', '/root', '/run/user'].some((hidden) => isInside(clean, hidden))) {
      throw new Error(
        `The service cannot reach ${clean}: folders of people are hidden from it. Take another path with ${option}, such as /srv/nodekeep.`,
      )
    }
    return clean
  }
  const folder = path('--data', data)
  return {
    user,
    config: path('--config', config),
    data: folder,
    releases: releases === undefined ? join(folder, 'releases') : path('--releases', releases),
  }
}

/** Copies a release so that every account can run it and only root can change it, whatever the umask of its owner was. */
async function copyRelease(from: string, to: string): Promise<void> {
  // It is the release that runs now, from its place.
  if (from === to) return
  const draft = `${to}.new`
  await rm(draft, { recursive: true, force: true })
  await run('cp', '-R', '-P', from, draft)
  await run('chmod', '-R', 'u=rwX,go=rX', draft)
  await rm(to, { recursive: true, force: true })
  await rename(draft, to)
}

/** Returns the names of the targets of symbolic links. Those in the folder of the node are not followed. */
async function targetsOf(...links: readonly string[]): Promise<string[]> {
  const targets = await Promise.all(links.map((link) => readlink(link).catch(() => link)))
  return targets.map((target) => basename(target))
}

/** Removes the releases that neither the service nor a rollback needs any more. */
async function removeReleases(folder: string, kept: readonly string[]): Promise<void> {
  for (const name of await readdir(folder)) {
    if (/^nodekeep-\d/.test(name) && !kept.includes(name)) await rm(join(folder, name), { recursive: true })
  }
}

async function makeReadable(folder: string): Promise<void> {
  const made = await mkdir(folder, { recursive: true })
  for (let at = folder; made !== undefined && at.length >= made.length; at = dirname(at))
    await chmod(at, 0o755)
}

async function pointTo(target: string, link: string): Promise<void> {
  await rm(`${link}.new`, { force: true })
  await symlink(target, `${link}.new`)
  await rename(`${link}.new`, link)
}

/** The shell may be reading the launcher, so the file is replaced, not written anew. */
async function replaceFile(
  file: string,
  mode: number,
  write: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = `${file}.new`
  await write(draft)
  await chmod(draft, mode)
  await rename(draft, file)
}

async function run(program: string, ...args: string[]): Promise<void> {
  await promisify(execFile)(program, args)
}

async function forPeopleWithRights(act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    throw new Error(`${path} cannot be written. Run this command as root.`, { cause: error })
  }
}

function commandsToStart(places: ServicePlaces): string[] {
  const { user } = places
  return [
    `id ${user} || useradd --system --no-create-home --shell /usr/sbin/nologin ${user}`,
    ...foldersToMake(places).map((path) => `install -d -m 700 -o ${user} ${path}`),
    'systemctl daemon-reload',
    'systemctl enable nodekeep && systemctl restart nodekeep',
    'journalctl -u nodekeep    # shows the claim code of a new node',
  ]
}
