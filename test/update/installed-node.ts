import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
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

/** What clients saw while something happened. */
interface Seen {
  /** The errors of connections, and answers with other codes than 200. */
  readonly failures: readonly string[]
  readonly longestMs: number
  readonly count: number
}

/** A node that was installed from an archive, as a person does it, and runs under its supervisor. */
export class InstalledNode {
  readonly folder: string
  readonly releases: string
  readonly url: URL
  #supervisor: ChildProcess | null = null
  #output = ''
  #token = ''
  readonly #accepted: string[] = []
  #writes = 0

  private constructor(folder: string, port: number) {
    this.folder = folder
    this.releases = join(folder, 'data/releases')
    this.url = new URL(`http://127.0.0.1:${port}`)
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
    return this.#output
  }

  /** The process of the supervisor. */
  get pid(): number {
    return this.#supervisor?.pid ?? 0
  }

  get #environment(): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: join(this.folder, 'home') }
  }

  /** Starts the supervisor of the release in use. */
  start(command = join(this.releases, 'current/bin/nodekeep')): void {
    const child = spawn(command, ['supervise'], {
      cwd: this.folder,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#supervisor = child
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text
      })
    }
  }

  /** Ends the supervisor with a signal, and waits until it has ended. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#supervisor
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
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
      const child = this.#supervisor
      if (child !== null && (child.exitCode !== null || child.signalCode !== null)) {
        throw new Error(`The supervisor has ended:\n${this.#output}`)
      }
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

  /**
   * Polls the node every 10 ms with connections of their own, and writes, while something happens.
   *
   * @returns the observations of the polls
   */
  async during(work: () => Promise<unknown>): Promise<Seen> {
    const failures: string[] = []
    let longestMs = 0
    const polls = new Set<Promise<void>>()
    let isOver = false
    const poll = async () => {
      const began = performance.now()
      const problem = await statusOf(new URL('/whoami', this.url))
      longestMs = Math.max(longestMs, performance.now() - began)
      if (problem !== null) failures.push(problem)
    }
    let count = 0
    const polling = (async () => {
      while (!isOver) {
        count += 1
        const one = poll().finally(() => polls.delete(one))
        polls.add(one)
        await delay(10)
      }
      await Promise.all(polls)
    })()
    const writing = (async () => {
      while (!isOver) {
        await this.write()
        await delay(20)
      }
    })()
    try {
      await work()
    } finally {
      isOver = true
      await Promise.all([polling, writing])
    }
    return { failures, longestMs, count }
  }
}

/** Returns the problem of one request; `null` if it was answered well. */
function statusOf(url: URL): Promise<string | null> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode === 200 ? null : `${answer.statusCode}`))
      answer.on('error', (error) => resolve(error.message))
    })
    request.on('error', (error) => resolve(error.message))
  })
}

/** Returns a port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
