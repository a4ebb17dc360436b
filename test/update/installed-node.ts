import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../free-ports.ts'
import { serviceOf } from '../release/installed-service.ts'
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

/** The wallet of the owner. */
const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'

/** A node that was installed from an archive, as a person does it, and runs under its supervisor. */
export class InstalledNode {
  readonly folder: string
  readonly releases: string
  readonly url: URL
  readonly #supervisor: SupervisorProcess
  readonly #environment: NodeJS.ProcessEnv
  #token = ''
  readonly #accepted: string[] = []
  #writes = 0

  /** @param variables those that select the configuration, in place of the working folder */
  private constructor(folder: string, port: number, data: string, variables: NodeJS.ProcessEnv = {}) {
    this.folder = folder
    this.releases = join(data, 'releases')
    this.url = new URL(`http://127.0.0.1:${port}`)
    this.#environment = { PATH: process.env.PATH, HOME: join(folder, 'home'), ...variables }
    this.#supervisor = new SupervisorProcess(folder, this.#environment)
  }

  /**
   * Unpacks the archive of the server, starts it, and signs the owner in.
   *
   * @param configuration more keys of the configuration
   */
  static async install(
    { archive, url }: Pick<ReleaseServer, 'archive' | 'url'>,
    configuration: object = {},
  ): Promise<InstalledNode> {
    const port = await freePort()
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-installed-'))
    const node = new InstalledNode(folder, port, join(folder, 'data'))
    return node.#installed(async () => {
      const release = await unpackRelease(archive, folder)
      const keys = { extends: 'nodekeep:default', data: './data', server: { port }, 'update-tuf': { url } }
      await writeFile(join(folder, 'nodekeep.json'), JSON.stringify({ ...keys, ...configuration }))
      node.start(join(release, 'bin/nodekeep'))
    })
  }

  /**
   * Installs the archive of the server as a service on a machine, whose `/` is a folder, and signs the owner in. There is no
   * systemd: this runs what the unit says.
   */
  static async installService({ archive, url }: ReleaseServer): Promise<InstalledNode> {
    const port = await freePort()
    const machine = await mkdtemp(join(tmpdir(), 'nodekeep-machine-'))
    await installService(await unpackRelease(archive, join(machine, 'root')), machine)
    const { env, data } = await serviceOf(machine)
    const node = new InstalledNode(machine, port, data, env)
    return node.#installed(async () => {
      const keys = { extends: 'nodekeep:default', server: { port }, 'update-tuf': { url } }
      await writeFile(env.NODEKEEP_CONFIG ?? '', JSON.stringify(keys))
      await node.restartService()
    })
  }

  /** Starts the node, and signs the owner in. */
  async #installed(start: () => Promise<void>): Promise<this> {
    try {
      await mkdir(join(this.folder, 'home'))
      await start()
      await this.answers()
      const stdout = await this.run('session', 'create', '--wallet', wallet)
      this.#token = /nks_\S+/.exec(stdout)?.[0] ?? ''
      return this
    } catch (error) {
      await this.remove()
      throw new Error(`The node could not be installed. It printed:\n${this.output}`, { cause: error })
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

  /** Starts the supervisor of the release in use, or by another command. */
  start(
    command = join(this.releases, 'current/bin/nodekeep'),
    args: readonly string[] = ['supervise'],
  ): void {
    this.#supervisor.start(command, args)
  }

  /** Runs a command of the release in use. Returns its output. */
  async run(...args: readonly string[]): Promise<string> {
    const command = join(this.releases, 'current/bin/nodekeep')
    return (await run(command, args, { cwd: this.folder, env: this.#environment })).stdout
  }

  /** Unpacks an archive as root does. Returns the folder of the release. */
  unpack(archive: string): Promise<string> {
    return unpackRelease(archive, join(this.folder, 'root'))
  }

  /** Installs an unpacked release as the service. */
  installService(release: string): Promise<void> {
    return installService(release, this.folder)
  }

  /** Does what `systemctl restart` does. */
  async restartService(): Promise<void> {
    await this.end('SIGTERM')
    const { launcher, args } = await serviceOf(this.folder)
    this.start(launcher, args)
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

  /**
   * All attempts, the newest first.
   *
   * @throws Error if the node does not tell, such as a bad release
   */
  async history(): Promise<readonly Attempt[]> {
    const { status, body } = await this.ask<{ attempts: Attempt[] }>('/api/update/history')
    if (status !== 200) throw new Error(`The history was answered with ${status}.`)
    return body.attempts
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
        await delay(100)
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

/** Unpacks the archive of a release into a folder. Returns the folder of the release. */
export async function unpackRelease(archive: string, into: string): Promise<string> {
  await mkdir(into, { recursive: true })
  const { stdout } = await run('tar', ['-xzvf', archive, '-C', into], { maxBuffer: 2 ** 24 })
  return join(into, stdout.slice(0, stdout.indexOf('/')))
}

/** Installs a release as the service of a machine. */
async function installService(release: string, machine: string): Promise<void> {
  await run(join(release, 'bin/nodekeep'), ['service', 'install', '--root', machine])
}
