import { fork } from 'node:child_process'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import { messageOf } from '../error-text.ts'
import { ChildNode } from '../supervision/child-node.ts'
import { listenForStop } from '../supervision/stop-signals.ts'

/** Milliseconds without a change after which writing counts as done. An editor or a compiler writes several files. */
const settledMs = 200

/** With more plugins than this, their folders are counted. */
const mostNamed = 3

/** Requests of a node that starts again have this time to end, in milliseconds. */
const patienceMs = 1000

/** A node that has not ended after this time is killed, in milliseconds. A plugin in work may keep its event loop busy. */
const graceMs = 10_000

/** A node that ends with the program is killed after this time, in milliseconds. Its requests have the time of the configuration. */
const stopMs = 60_000

/** A node ends with this code to be started again (`EX_TEMPFAIL` of sysexits.h). */
const restartCode = 75

/** The files from which a node starts. All paths are absolute. */
export interface NodeSources {
  /** The files of the configuration. */
  readonly files: ReadonlySet<string>
  /** The folders of plugins, and whether their TypeScript is compiled first. It is left out then. */
  readonly plugins: ReadonlyMap<string, boolean>
  /** The folders with data, which are left out. */
  readonly data: readonly string[]
}

/** A node that starts again when its sources change. */
export interface RestartOptions {
  /** The absolute path of the program of the node. */
  readonly program: string
  /** Its arguments, with `--watched`. */
  readonly args: readonly string[]
  /** Reads before each start what is watched. */
  readonly readSources: () => Promise<NodeSources>
  /** Receives lines for people. */
  readonly tell: (line: string) => void
}

/**
 * Runs a node in a process of its own, until a signal stops this program. When a source has changed and nothing was written for 200 ms, it
 * stops the node and starts another one. A node that has ended, such as one that cannot start, is started again at the next change.
 */
export async function restartOnChange({ program, args, readSources, tell }: RestartOptions): Promise<never> {
  let node: ChildNode | null = null
  const stopSignals = listenForStop(() => node?.kill())
  const stopped = stopSignals.first.then(() => null)
  const watch = new SourceWatch(tell)
  for (;;) {
    const changed = watch.nextChange()
    await watch.follow(await readSources())
    node = startProcess(program, args)
    let reason = await Promise.race([stopped, changed, node.ended])
    if (typeof reason === 'object' && reason !== null && reason.code !== restartCode) {
      tell('The node has ended. It starts again at the next change. Ctrl+C ends the command.')
      reason = await Promise.race([stopped, changed])
    }
    if (reason === null) {
      node.send({ nodekeep: 'stop', patienceMs: 0 })
      await node.endsWithin(stopMs)
      process.exit(0)
    }
    if (typeof reason === 'string') tell(`${reason} has changed. The node starts again.`)
    node.send({ nodekeep: 'stop', patienceMs })
    await node.endsWithin(patienceMs + graceMs)
  }
}

function startProcess(program: string, args: readonly string[]): ChildNode {
  const child = fork(program, args, {
    // Two processes cannot wait for a debugger at one port.
    execArgv: process.execArgv.filter((option) => !option.startsWith('--inspect')),
  })
  return new ChildNode(child, () => {})
}

/** Tells of changes of the sources. Libraries (`node_modules`) and names that begin with a dot are left out. */
class SourceWatch {
  readonly #tell: (line: string) => void
  #sources: NodeSources = { files: new Set(), plugins: new Map(), data: [] }
  #watcher: FSWatcher | null = null
  #next = Promise.withResolvers<string>()
  /** The first change since the last start. */
  #changed: string | null = null
  #settled: NodeJS.Timeout | undefined
  #told = ''

  constructor(tell: (line: string) => void) {
    this.#tell = tell
  }

  /** Resolves with the path of a file, as people read it, when it has changed and nothing more is written. Forgets earlier changes. */
  nextChange(): Promise<string> {
    clearTimeout(this.#settled)
    this.#changed = null
    this.#next = Promise.withResolvers()
    return this.#next.promise
  }

  async follow(sources: NodeSources): Promise<void> {
    this.#sources = sources
    const { files, plugins } = sources
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
    watcher.on('error', (error) => this.#tell(`Not everything is watched: ${messageOf(error)}`))
    await new Promise<void>((ready) => watcher.once('ready', ready))
    this.#watcher = watcher
    await former?.close()
    const named = plugins.size > mostNamed ? [] : plugins.keys()
    const counted = plugins.size > mostNamed ? [`the folders of ${plugins.size} plugins`] : []
    const parts = [...[...files, ...named].map(label), ...counted]
    this.#tell(`The node starts again at a change of ${parts.join(', ')}.`)
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
    const { resolve: tellChange } = this.#next
    const changed = label(this.#changed)
    this.#settled = setTimeout(() => tellChange(changed), settledMs)
  }
}

function isWithin(path: string, folder: string): boolean {
  const below = relative(folder, path)
  return below.split(sep)[0] !== '..' && !isAbsolute(below)
}

/** Names a file for people: relative to the working directory when the file is below it, otherwise absolute. */
function label(path: string): string {
  const below = relative(process.cwd(), path)
  return below === '' || !isWithin(path, process.cwd()) ? path : below
}
