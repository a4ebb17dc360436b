import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import type { Configuration } from '../../configuration/configuration.ts'
import { fileLabel } from '../../configuration/json-file.ts'
import { findInstalledPlugins, findPluginFolders } from '../../plugins/installed-plugins.ts'
import { namedFolder } from '../../plugins/locate-plugin.ts'
import type { ConfigurationOptions } from '../common/configuration-options.ts'
import { readConfiguration } from '../common/read-configuration.ts'

/** Milliseconds without a change after which writing counts as done. An editor or a compiler writes several files. */
const settledMs = 200

/** With more plugins than this, their folders are counted. */
const mostNamed = 3

/** Absolute paths of what is watched. */
interface Sources {
  /** The files of the configuration. */
  readonly files: ReadonlySet<string>
  /** The folders of plugins, and whether the entry of the plugin is JavaScript. */
  readonly plugins: ReadonlyMap<string, boolean>
  /** The folders with data. */
  readonly data: readonly string[]
}

/**
 * Tells of changes of the configuration, and of the plugins that somebody may be working on: those that the configuration names by
 * `from`, and in a checkout those of the repository. Left out are libraries (`node_modules`), names that begin with a dot, data, and the
 * TypeScript of a plugin whose entry is JavaScript: it is compiled first.
 */
export class SourceWatch {
  readonly #options: ConfigurationOptions
  readonly #tell: (line: string) => void
  #sources: Sources = { files: new Set(), plugins: new Map(), data: [] }
  #watcher: FSWatcher | null = null
  #next = Promise.withResolvers<string>()
  /** The first change since the last start. */
  #changed: string | null = null
  #settled: NodeJS.Timeout | undefined
  #told = ''

  /** @param tell receives lines for people */
  constructor(options: ConfigurationOptions, tell: (line: string) => void) {
    this.#options = options
    this.#tell = tell
  }

  /** Resolves with the path of a file, as people read it, when it has changed and nothing more is written. Forgets earlier changes. */
  nextChange(): Promise<string> {
    clearTimeout(this.#settled)
    this.#changed = null
    this.#next = Promise.withResolvers()
    return this.#next.promise
  }

  /** Watches what the configuration names now. If the configuration cannot be read, the plugins stay those of before. */
  async follow(): Promise<void> {
    this.#sources = await this.#read()
    const { files, plugins } = this.#sources
    const folders = new Set([...Array.from(files, (file) => dirname(file)), ...plugins.keys()])
    const watched = [...files, ...plugins.keys()].sort().join('\n')
    if (watched === this.#told) return
    this.#told = watched
    const former = this.#watcher
    const watcher = watch([...folders], {
      ignored: (path) => this.#isLeftOut(resolve(path)),
      ignoreInitial: true,
      followSymlinks: false,
    })
    watcher.on('all', (_event, path) => this.#take(path))
    watcher.on('error', (error) => this.#tell(`Not everything is watched: ${(error as Error).message}`))
    await new Promise<void>((ready) => watcher.once('ready', ready))
    this.#watcher = watcher
    await former?.close()
    const named = plugins.size > mostNamed ? [] : plugins.keys()
    const counted = plugins.size > mostNamed ? [`the folders of ${plugins.size} plugins`] : []
    const parts = [...[...files, ...named].map(label), ...counted]
    this.#tell(`The node starts again at a change of ${parts.join(', ')}.`)
  }

  async #read(): Promise<Sources> {
    const files = new Set<string>()
    // A file that is made later is read by the next start.
    if (this.#options.config === undefined) files.add(resolve('nodekeep.json'))
    const add = (file: string) => {
      if (!isInstalled(file)) files.add(file)
    }
    try {
      const configuration = await readConfiguration(this.#options, process, add)
      return { files, ...(await pluginsOf(configuration)) }
    } catch {
      // The node itself tells what is wrong.
      return { ...this.#sources, files: files.union(this.#sources.files) }
    }
  }

  #isLeftOut(path: string): boolean {
    const { files, plugins, data } = this.#sources
    if (files.has(path)) return false
    // A plugin may be in the folder of another one.
    const [found] = [...plugins]
      .filter(([folder]) => isWithin(path, folder))
      .sort()
      .reverse()
    // The folder of a file is watched for the file alone, which may be replaced by another one.
    if (found === undefined) return !Array.from(files, (file) => dirname(file)).includes(path)
    const [folder, isCompiled] = found
    if (path === folder) return false
    const names = relative(folder, path).split(sep)
    return (
      names.some((name) => name === 'node_modules' || name.startsWith('.')) ||
      (isCompiled && /\.[cm]?tsx?$/.test(path)) ||
      data.some((each) => isWithin(each, folder) && isWithin(path, each))
    )
  }

  #take(path: string): void {
    clearTimeout(this.#settled)
    this.#changed ??= path
    const { resolve } = this.#next
    const changed = label(this.#changed)
    this.#settled = setTimeout(() => resolve(changed), settledMs)
  }
}

async function pluginsOf(configuration: Configuration): Promise<Pick<Sources, 'plugins' | 'data'>> {
  const plugins = new Map<string, boolean>()
  // The folder of a package that cannot be read is watched, too.
  for (const entry of configuration.plugins) {
    const folder = namedFolder(entry)
    if (entry.enabled && folder !== null) plugins.set(folder, false)
  }
  for (const { entry, manifest } of await findInstalledPlugins(configuration)) {
    if (entry.from !== null || !isInstalled(manifest.folder)) {
      plugins.set(manifest.folder, !/\.[cm]?ts$/.test(manifest.entry))
    }
  }
  const folders = await findPluginFolders(configuration)
  return { plugins, data: [configuration.kernel.data, ...folders.map(({ path }) => path)] }
}

/** Whether a file came with a package that somebody has installed. */
function isInstalled(path: string): boolean {
  return path.split(sep).includes('node_modules')
}

function isWithin(path: string, folder: string): boolean {
  const below = relative(folder, path)
  return below.split(sep)[0] !== '..' && !isAbsolute(below)
}

function label(path: string): string {
  return fileLabel(path, process.cwd())
}
