import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { link, mkdir, open, readdir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../../plugins/file-sync/bin/nodekeep-sync.js', import.meta.url))

/** The contents of files by path, `null` for folders. */
type Tree = ReadonlyMap<string, string | null>

/** A device with a folder on the disk, a client in a separate process, and a person who changes files. */
export class SyncedDevice {
  readonly name: string
  readonly folder: string
  /** Where the person takes files to before they go. The client does not see it. */
  readonly #outside: string
  readonly #home: string
  readonly #url: URL
  readonly #token: string
  #child: ChildProcess | null = null
  #output = ''
  #count = 0

  private constructor(name: string, place: string, url: URL, token: string) {
    this.name = name
    this.folder = join(place, name, 'folder')
    this.#outside = join(place, name, 'outside')
    this.#home = join(place, name, 'home')
    this.#url = url
    this.#token = token
  }

  static async create(name: string, place: string, url: URL, token: string): Promise<SyncedDevice> {
    const device = new SyncedDevice(name, place, url, token)
    for (const folder of [device.folder, device.#outside, device.#home])
      await mkdir(folder, { recursive: true })
    return device
  }

  /** Starts the client, unless it runs. */
  start(): void {
    if (this.#child !== null) return
    const child = spawn(
      process.execPath,
      ['--conditions=nodekeep-source', command, this.folder, '--node', this.#url.href, '--name', this.name],
      {
        env: {
          PATH: process.env.PATH,
          HOME: this.#home,
          XDG_CONFIG_HOME: this.#home,
          NODEKEEP_SYNC_TOKEN: this.#token,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text
      })
    }
    this.#child = child
  }

  /** Kills the client in the middle of its work. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === null) return
    this.#checkRuns()
    this.#child = null
    child.kill('SIGKILL')
    await once(child, 'close')
    this.#output += '(killed)\n'
  }

  /** The output of the client so far. */
  get output(): string {
    return this.#output
  }

  /** The status of the client that runs. `isIdle` is true if both sides are the same. */
  async status(): Promise<{ readonly isIdle?: boolean }> {
    this.#checkRuns()
    const text = await readFile(join(this.folder, '.nodekeep-sync/status.json'), 'utf8').catch(() => '{}')
    const { pid, ...status } = JSON.parse(text) as { pid?: number; isIdle?: boolean }
    return pid === this.#child?.pid ? status : {}
  }

  async tree(): Promise<Tree> {
    return treeOf(this.folder)
  }

  /** The contents of the files that the node has removed. */
  async trash(): Promise<string[]> {
    return contentsOf(await treeOf(join(this.folder, '.nodekeep-sync/trash')))
  }

  /**
   * Takes a file or folder away, as a whole.
   *
   * @returns the contents that were in it
   */
  async remove(path: string): Promise<string[]> {
    const taken = await this.#take(path)
    if (taken === null) return []
    const isFile = (await stat(taken)).isFile()
    const contents = isFile ? [await readFile(taken, 'utf8')] : contentsOf(await treeOf(taken))
    await rm(taken, { recursive: true })
    return contents
  }

  /** Stores a new file where nothing is. Returns whether it was possible. */
  async create(path: string, content: string): Promise<boolean> {
    const file = join(this.#outside, `new-${this.#count++}`)
    await writeFile(file, content)
    return this.#put(file, path)
  }

  /**
   * Writes to a file that is there, in place.
   *
   * @returns the content that is no longer there; `null` if the new one did not get there
   */
  async edit(path: string, content: string): Promise<string | null> {
    const file = await open(join(this.folder, path), 'r+').catch(() => null)
    if (file === null) return null
    try {
      if (!(await file.stat()).isFile()) return null
      const former = await file.readFile('utf8')
      await file.truncate()
      await file.write(content, 0)
      const [own, there] = [await file.stat(), await stat(join(this.folder, path)).catch(() => null)]
      // Another file may have taken the place. This one is then a file that nobody can see.
      return own.ino === there?.ino || own.nlink > 0 ? former : null
    } finally {
      await file.close()
    }
  }

  /** Moves a file or folder to a path where nothing is, or else to a name beside it. */
  async move(path: string, destination: string): Promise<void> {
    const taken = await this.#take(path)
    if (taken === null) return
    for (let target = destination; ; target = `/moved-${this.#count++}`) {
      if ((await stat(taken)).isDirectory()) {
        await mkdir(dirname(join(this.folder, target)), { recursive: true }).catch(() => {})
        const isThere = await stat(join(this.folder, target)).then(
          () => true,
          () => false,
        )
        if (isThere) continue
        const isMoved = await rename(taken, join(this.folder, target)).then(
          () => true,
          () => false,
        )
        if (isMoved) return
      } else if (await this.#put(taken, target)) return
    }
  }

  async makeFolder(path: string): Promise<void> {
    await mkdir(join(this.folder, path), { recursive: true }).catch(() => {})
  }

  async #take(path: string): Promise<string | null> {
    const taken = join(this.#outside, `taken-${this.#count++}`)
    return rename(join(this.folder, path), taken).then(
      () => taken,
      () => null,
    )
  }

  async #put(file: string, path: string): Promise<boolean> {
    const target = join(this.folder, path)
    await mkdir(dirname(target), { recursive: true }).catch(() => {})
    const isPut = await link(file, target).then(
      () => true,
      () => false,
    )
    if (isPut) await unlink(file)
    return isPut
  }

  #checkRuns(): void {
    const { exitCode, signalCode } = this.#child ?? {}
    assert.ok(
      (exitCode ?? null) === null && (signalCode ?? null) === null,
      `The client of ${this.name} has ended.`,
    )
  }
}

/** Reads a folder, without what belongs to the client. */
export async function treeOf(folder: string): Promise<Tree> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const lines = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name)
    const content = entry.isFile() ? await readFile(path, 'utf8').catch(() => 'gone meanwhile') : null
    return [path.slice(folder.length), content] as const
  })
  const isOwn = (path: string) => path.startsWith('/.nodekeep-sync')
  return new Map((await Promise.all(lines)).filter(([path]) => !isOwn(path)).sort())
}

export function contentsOf(tree: Tree): string[] {
  return [...tree.values()].filter((content) => content !== null)
}
