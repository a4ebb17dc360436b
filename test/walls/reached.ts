import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Package, readPackages } from './packages.ts'

/** These files decide what all others do. */
const reachEverything =
  /^(package(-lock)?\.json|runtime\.js|tsconfig\.json|\.ci\/.*|.*\/stubs\/.*|test\/run\/(check|run-.*)\.ts)$/

/**
 * Returns the files of the repository that a change reaches: the changed files, and all files that lead to them. A file leads to
 * the files and entries of packages that its strings name: imports, worker threads, programs of processes. Files outside of `src/`,
 * such as tests and configurations, also lead to folders, and to the plugins whose ids they set: the whole package, since a node
 * loads it. Too many files count rather than too few.
 *
 * @param changed paths from the root, `/`-separated, those of removed files included
 * @param root the root of the repository
 */
export async function reachedFiles(
  changed: readonly string[],
  root: string = repository,
): Promise<ReadonlySet<string>> {
  const files = new Set([...(await trackedFiles(root)), ...changed])
  if (changed.some((file) => reachEverything.test(file))) return files
  const sources = await Promise.all(
    [...files].filter(isRead).map(async (file) => ({ file, text: await textOf(join(root, file)) })),
  )
  const house = new House(readPackages(root), files)
  const comeFrom = new Map<string, Set<string>>()
  for (const { file, text } of sources) {
    for (const target of house.targets(file, text)) {
      const origins = comeFrom.get(target)
      if (origins) origins.add(file)
      else comeFrom.set(target, new Set([file]))
    }
  }
  const reached = new Set(changed)
  for (const file of reached)
    for (const place of house.placesOf(file))
      for (const origin of comeFrom.get(place) ?? []) reached.add(origin)
  return reached
}

/**
 * Returns the files that differ from a commit: those of commits since the last common one, and those that are not committed.
 *
 * @param base a commit, such as `origin/main`
 * @throws Error with the message of git, for example if there is no such commit
 */
export async function changedFiles(base: string, root: string = repository): Promise<string[]> {
  const common = (await git(root, 'merge-base', base, 'HEAD')).trim()
  const differing = await git(root, 'diff', '--name-only', '--no-renames', '-z', common)
  const untracked = await git(root, 'ls-files', '--others', '--exclude-standard', '-z')
  return [...new Set([...names(differing), ...names(untracked)])].sort()
}

/** The commit with which a change is compared if nobody names one. */
export const defaultBase = 'origin/main'

const repository = fileURLToPath(new URL('../../', import.meta.url))

async function trackedFiles(root: string): Promise<string[]> {
  return names(await git(root, 'ls-files', '--cached', '--others', '--exclude-standard', '-z'))
}

async function git(root: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, { cwd: root, maxBuffer: 2 ** 26 })
  return stdout
}

function names(list: string): string[] {
  return list.split('\0').filter((name) => name !== '')
}

/** Whether the strings of a file lead to others: code, and the configurations of nodes. */
function isRead(file: string): boolean {
  return /\.([cm]?[jt]s|html)$|^config\/.*\.json$/.test(file) && !/\/bundle\//.test(file)
}

/** The text of a file; empty if it was removed. */
async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}

/** Finds what the strings of files name, comments left out. A place is a file, a folder with a slash at its end, or `package FOLDER`. */
class House {
  readonly #packages: readonly Package[]
  readonly #files: ReadonlySet<string>
  readonly #folders = new Set<string>()
  /** The files of each base name. */
  readonly #named = new Map<string, string[]>()
  /** The folder of each plugin, by its id. */
  readonly #plugins: ReadonlyMap<string, string>
  /** The file behind each entry of a package, such as `@nodekeep/kernel/testing`. */
  readonly #entries: ReadonlyMap<string, string>

  constructor(packages: readonly Package[], files: ReadonlySet<string>) {
    this.#packages = packages
    this.#files = files
    for (const file of files) {
      for (const folder of foldersOf(file)) this.#folders.add(folder)
      const name = posix.basename(file)
      this.#named.set(name, [...(this.#named.get(name) ?? []), file])
    }
    this.#plugins = new Map(
      packages.flatMap(({ folder, manifest: { nodekeep } }) => (nodekeep?.id ? [[nodekeep.id, folder]] : [])),
    )
    this.#entries = new Map(
      packages.flatMap(({ folder, manifest }) =>
        Object.entries(manifest.exports ?? {}).flatMap(([path, target]) => {
          const source = sourceOf(folder, target)
          return source ? [[posix.join(manifest.name, path), source]] : []
        }),
      ),
    )
  }

  /** The places to which a change of a file belongs. */
  placesOf(file: string): string[] {
    const { folder } = this.#ownerOf(file)
    const isLoaded = folder !== '' && !file.startsWith(`${folder}/test/`)
    return [file, ...foldersOf(file), ...(isLoaded ? [`package ${folder}`] : [])]
  }

  /** The places to which a file leads. */
  targets(file: string, text: string): string[] {
    const owner = this.#ownerOf(file)
    const code = text.replaceAll(/^ *(\/?\*|\/\/).*$/gm, '').replaceAll(/\.\$\{extension\}/g, '.ts')
    const strings = code.matchAll(/['"`}]([\w@#./*-]+)['"`]/g)
    const found = Array.from(strings, ([, name = '']) => this.#targetsOf(owner, file, name)).flat()
    if (!isSource(owner, file)) {
      for (const [id, folder] of this.#plugins) {
        if (setsId(code, id)) found.push(`package ${folder}`)
      }
    }
    // A test or tool that asks for the workspaces of npm works with all packages.
    if (owner.kind === 'root' && /\bworkspaces\b/.test(code)) {
      for (const { folder } of this.#packages) if (folder !== '') found.push(`package ${folder}`)
    }
    return found
  }

  #targetsOf(owner: Package, file: string, name: string): readonly string[] {
    if (name.startsWith('#')) {
      const source = sourceOf(owner.folder, owner.manifest.imports?.[name])
      return source ? [source] : []
    }
    // The files of one folder, as in `config/*.json`.
    if (/^\w[\w/-]*\/\*\.[\w.]+$/.test(name)) {
      const pattern = posix.join(owner.folder, name)
      return [...this.#files].filter((path) => posix.matchesGlob(path, pattern))
    }
    const entry = this.#entries.get(name)
    if (entry) return [entry]
    for (const path of [posix.join(posix.dirname(file), name), posix.join(owner.folder, name), name]) {
      if (this.#files.has(path)) return [path]
      const folder = posix.join(path, '/')
      if (!isSource(owner, file) && /\w\/\w/.test(name) && this.#folders.has(folder)) return [folder]
    }
    // A part of a path, whose folder is elsewhere in the code.
    return (this.#named.get(posix.basename(name)) ?? []).filter(
      (path) => path.endsWith(posix.join('/', name)) && this.#ownerOf(path) === owner,
    )
  }

  #ownerOf(file: string): Package {
    const owner = this.#packages.find(({ folder }) => folder === '' || file.startsWith(`${folder}/`))
    if (!owner) throw new Error('The root is not among the packages.')
    return owner
  }
}

function isSource({ folder }: Package, file: string): boolean {
  return file.startsWith(`${folder}/src/`)
}

/** The source of an entry in `exports` or `imports` of a package. */
function sourceOf(folder: string, target: unknown): string | undefined {
  const source = (target as Record<string, string> | undefined)?.['nodekeep-source']
  return source?.startsWith('./') ? posix.join(folder, source) : undefined
}

/** Whether a text sets a key with the id of a plugin, or has the id in a list. */
function setsId(text: string, id: string): boolean {
  return new RegExp(`(?<![\\w-])(['"]?)${id}\\1: (true|\\{|\\[)|['"]${id}['"]`).test(text)
}

/** The folders in which a file is, without the root, each with a slash at its end. */
function foldersOf(file: string): string[] {
  const parts = file.split('/').slice(0, -1)
  return parts.map((_, index) => `${parts.slice(0, index + 1).join('/')}/`)
}
