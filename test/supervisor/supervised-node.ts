import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { freePort } from '../free-ports.ts'
import { root } from '../run/command.ts'
import { type StartOptions, SupervisorProcess } from './supervisor-process.ts'

/** How the plugin `switchable` breaks in a release. */
type Behavior =
  | 'fine'
  | 'fails'
  | 'fails-later'
  | 'exits'
  | 'unhealthy'
  | 'contracts'
  | 'dies'
  | 'leaves-process'
  | 'ends'
  | 'damages'
  | 'hangs'

/** How a node changes to another release. */
interface ChangeOptions {
  readonly waitMs?: number
  readonly withoutRollback?: boolean
}

/** A row of the history, as JSON. */
interface Attempt {
  readonly from: string
  readonly to: string
  readonly result: string
  readonly reason: string | null
}

/** A supervisor that runs a node of version 1.0.0 in a folder of its own. */
interface SupervisedNode {
  readonly folder: string
  readonly releases: string
  readonly data: string
  readonly supervisor: SupervisorProcess
  readonly url: URL
  /** Starts the supervisor of the release in use. */
  start(options?: StartOptions): void
  /** Writes a release into a folder. */
  writeRelease(path: string, version: string, behavior?: Behavior): Promise<void>
  /** Asks the node to change to a new release with a version. */
  change(version: string, behavior?: Behavior, options?: ChangeOptions): Promise<Response>
  ask(body: object): Promise<Response>
  get<T>(path: string): Promise<T>
  post(path: string, body: object): Promise<Response>
  version(): Promise<string>
  /** Waits until a version answers. */
  runs(version: string): Promise<void>
  history(): Promise<readonly Attempt[]>
  /** Waits until this number of attempts is in the history, and the last one is over. */
  attempt(count: number): Promise<Attempt>
}

/**
 * Starts a supervisor with a first release, 1.0.0. The end of the test ends both. The node has no plugin `update`: the supervisor needs
 * none, and neither does the launcher of the service.
 */
export async function supervisedNode(
  t: Pick<Test, 'teardown'>,
  releasesKeys: object = {},
  options: StartOptions = {},
): Promise<SupervisedNode> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-supervised-'))
  const data = join(folder, 'data')
  const releases = join(data, 'releases')
  const port = await freePort()
  const plugin = join(root, 'test/supervisor/fixtures/switchable')
  const configuration = {
    data: './data',
    server: { port },
    health: { required: ['database', 'switchable'] },
    plugins: { switchable: { from: plugin } },
    releases: releasesKeys,
  }
  await writeFile(join(folder, 'nodekeep.json'), JSON.stringify(configuration))
  const url = new URL(`http://127.0.0.1:${port}`)
  const { PATH, XDG_CACHE_HOME } = process.env
  const supervisor = new SupervisorProcess(folder, { PATH, XDG_CACHE_HOME, HOME: folder })
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, url), { ...init, headers: { connection: 'close', ...init.headers } })
  const post = (path: string, body: object) =>
    ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  /** Whether a change of the release is not complete. Its end is in the history a moment before. */
  const changes = async () => {
    const text = await readFile(join(releases, 'state.json'), 'utf8').catch(() => '{"change":null}')
    return JSON.parse(text).change !== null
  }
  const node: SupervisedNode = {
    folder,
    releases,
    data,
    supervisor,
    url,
    start: (options) => supervisor.start(join(releases, 'current/bin/nodekeep'), ['supervise'], options),
    async writeRelease(path, version, behavior = 'fine') {
      await mkdir(join(path, 'bin'), { recursive: true })
      await writeFile(join(path, 'release.json'), JSON.stringify({ version, schema: [] }))
      const command = `exec "${process.execPath}" --conditions=nodekeep-source "${join(root, 'kernel/bin/nodekeep.js')}" "$@"`
      const variables = `export RELEASE_VERSION=${version} RELEASE_BEHAVIOR=${behavior}`
      await writeFile(join(path, 'bin/nodekeep'), `#!/bin/sh\n${variables}\n${command}\n`)
      await chmod(join(path, 'bin/nodekeep'), 0o755)
    },
    async change(version, behavior, options) {
      const answer = await node.ask({ action: 'prepare', version })
      const prepared = (await answer.json()) as { folder: string }
      await node.writeRelease(prepared.folder, version, behavior)
      return node.ask({ action: 'change', folder: prepared.folder, ...options })
    },
    ask: (body) => post('/releases', body),
    get: async (path) => (await ask(path)).json() as never,
    post,
    version: async () => (await node.get<{ version: string }>('/version')).version,
    async runs(version) {
      for (;;) {
        const running = await node.version().catch(() => null)
        if (running === version) return
        await delay(50)
      }
    },
    async history() {
      const text = await readFile(join(releases, 'history.json'), 'utf8').catch(() => '[]')
      return JSON.parse(text)
    },
    async attempt(count) {
      for (;;) {
        const attempts = await node.history()
        const last = attempts.at(-1)
        if (attempts.length >= count && last !== undefined && !(await changes())) return last
        await delay(50)
      }
    },
  }
  t.teardown(async () => {
    await supervisor.end('SIGTERM')
    await rm(folder, { recursive: true, force: true })
  })
  const first = join(releases, '1.0.0')
  await node.writeRelease(first, '1.0.0')
  await symlink('1.0.0', join(releases, 'current'))
  node.start(options)
  // With a socket of its own, the node is not at the address of the configuration.
  if (options.socket === undefined) await node.runs('1.0.0')
  return node
}
