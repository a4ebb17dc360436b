import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../free-ports.ts'
import { pollDuring, type Seen } from '../supervisor/polling-client.ts'
import { SupervisorProcess } from '../supervisor/supervisor-process.ts'
import type { ReleaseServer } from './release-server.ts'

const run = promisify(execFile)

/** An attempt, as `GET /api/update/history` tells it. */
interface Attempt {
  readonly from: string
  readonly to: string
  readonly result: 'running' | 'installed' | 'failed' | 'went back'
  readonly reason: string | null
}

/** The answer to a request, with its body. */
interface Answer<T> {
  readonly status: number
  readonly body: T
}

/** A node that was installed from an archive, as a person does it, and runs under its supervisor. */
export class InstalledNode {
  readonly folder: string
  readonly releases: string
  readonly url: URL
  readonly #supervisor: SupervisorProcess
  #token = ''
  readonly #accepted: string[] = []
  #writes = 0

  private constructor(folder: string, port: number) {
    this.folder = folder
    this.releases = join(folder, 'data/releases')
    this.url = new URL(`http://127.0.0.1:${port}`)
    this.#supervisor = new SupervisorProcess(folder, this.#environment)
  }

  /**
   * Unpacks the archive of the server, starts it, and signs the owner in.
   *
   * @param configuration more keys of the configuration
   */
  static async install({ archive, url }: ReleaseServer, configuration: object = {}): Promise<InstalledNode> {
    const port = await freePort()
    const node = new InstalledNode(await mkdtemp(join(tmpdir(), 'nodekeep-installed-')), port)
    try {
      await run('tar', ['-xzf', archive, '-C', node.folder])
      const [unpacked = ''] = (await readdir(node.folder)).filter((name) => name.startsWith('nodekeep-'))
      const keys = { extends: 'nodekeep:default', data: './data', server: { port }, 'update-tuf': { url } }
      await writeFile(join(node.folder, 'nodekeep.json'), JSON.stringify({ ...keys, ...configuration }))
      await mkdir(join(node.folder, 'home'))
      const command = join(node.folder, unpacked, 'bin/nodekeep')
      node.start(command)
      await node.answers()
      const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'
      const args = ['session', 'create', '--wallet', wallet]
      const { stdout } = await run(command, args, { cwd: node.folder, env: node.#environment })
      node.#token = /nks_\S+/.exec(stdout)?.[0] ?? ''
      return node
    } catch (error) {
      await node.remove()
      throw new Error(`The node could not be installed. It printed:\n${node.output}`, { cause: error })
    }
  }

  /** The lines that supervisor and node have printed. */
  get output(): string {
    return this.#supervisor.output
  }

  /** The token of a session of the owner. */
  get token(): string {
    return this.#token
  }

  /** The process of the supervisor. */
  get pid(): number {
    return this.#supervisor.pid
  }

  get #environment(): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: join(this.folder, 'home') }
  }

  /** Starts the supervisor of the release in use, or by another command. */
  start(
    command = join(this.releases, 'current/bin/nodekeep'),
    args: readonly string[] = ['supervise'],
  ): void {
    this.#supervisor.start(command, args)
  }

  /** Waits until the supervisor has ended by itself. Returns its exit code, or the signal. */
  ended(): ReturnType<SupervisorProcess['ended']> {
    return this.#supervisor.ended()
  }

  /** Ends the supervisor with a signal, and waits until it and its node have ended. */
  async end(signal: NodeJS.Signals): Promise<void> {
    await this.#supervisor.end(signal)
  }

  async remove(): Promise<void> {
    await this.end('SIGTERM')
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 })
  }

  /** Asks as the owner. */
  async ask<T>(path: string, init: RequestInit = {}): Promise<Answer<T>> {
    const headers = { ...init.headers, authorization: `Bearer ${this.#token}`, connection: 'close' }
    const answer = await fetch(new URL(path, this.url), { ...init, headers })
    return { status: answer.status, body: (await answer.json()) as T }
  }

  /** The version that answers. */
  async version(): Promise<string> {
    return (await this.ask<{ version: string }>('/api/update/version')).body.version
  }

  /** Waits until a node answers. */
  async answers(signal?: AbortSignal): Promise<void> {
    for (;;) {
      signal?.throwIfAborted()
      const answer = await fetch(new URL('/health', this.url)).catch(() => null)
      if (answer?.ok) return
      if (this.#supervisor.hasEnded) throw new Error(`The supervisor has ended:\n${this.output}`)
      await delay(50)
    }
  }

  /** All attempts, the newest first. */
  async history(): Promise<readonly Attempt[]> {
    return (await this.ask<{ attempts: Attempt[] }>('/api/update/history')).body.attempts
  }

  /** Waits until this many attempts are in the history and the newest of them is over. */
  async attempt(count: number, signal?: AbortSignal): Promise<Attempt> {
    for (;;) {
      signal?.throwIfAborted()
      const attempts = await this.history().catch(() => [])
      const [newest] = attempts
      if (attempts.length >= count && newest !== undefined && newest.result !== 'running') return newest
      await delay(50)
    }
  }

  /** Looks for the newest version and installs it. */
  async update(): Promise<Answer<{ success?: boolean; message: string }>> {
    return this.ask('/api/update/install', { method: 'POST' })
  }

  /** Writes one file. It counts if the node has accepted it. */
  async write(): Promise<void> {
    this.#writes += 1
    const name = `/written/${this.#writes}`
    const answer = await this.ask(`/write?path=${name}`, { method: 'PUT', body: name }).catch(() => null)
    if (answer?.status === 200) this.#accepted.push(name)
  }

  /** Returns the accepted files that the node does not have any more. */
  async lost(): Promise<{ readonly lost: readonly string[]; readonly accepted: number }> {
    const lost: string[] = []
    for (const name of this.#accepted) {
      const headers = { authorization: `Bearer ${this.#token}` }
      const answer = await fetch(new URL(`/read?path=${name}`, this.url), { headers })
      if ((await answer.text()) !== name) lost.push(name)
    }
    return { lost, accepted: this.#accepted.length }
  }

  /** Polls the node, and writes, while something happens. */
  async during(work: () => Promise<unknown>): Promise<Seen> {
    let isOver = false
    const writing = (async () => {
      while (!isOver) {
        await this.write()
        await delay(20)
      }
    })()
    try {
      return await pollDuring(new URL('/whoami', this.url), work)
    } finally {
      isOver = true
      await writing
    }
  }
}
