import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PluginDescription } from '@nodekeep/kernel/testing'
import { fixtures, shortLimits } from '../loader/failing-plugins.ts'

/** The command line. */
export const cli = fileURLToPath(new URL('../../kernel/bin/nodekeep.js', import.meta.url))
const runtime = fileURLToPath(new URL('../../runtime.js', import.meta.url))
const wallet = '0x1111111111111111111111111111111111111111'

/** A gateway on ports of its own: several nodes run at the same time. */
const anyPorts = { gateway: { control: { host: '127.0.0.1', port: 0 }, ports: { range: '' } } }

/** The presets of Nodekeep, each as a configuration that extends it. */
export const presets = (['minimal', 'default', 'gateway'] as const).map((name) => ({
  name,
  configuration: {
    extends: fileURLToPath(new URL(`../../config/${name}.json`, import.meta.url)),
    ...(name === 'gateway' ? anyPorts : {}),
  },
}))

/** The end of a node's process. */
interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A node in a separate process, started by the command line with a configuration file. */
export interface NodeProcess {
  readonly child: ChildProcess
  readonly file: string
  /** Resolves with the address when the node listens. Rejects if the node ends before. */
  readonly ready: Promise<URL>
  readonly end: Promise<End>
  /** The folder of the configuration. The data is in `data`. */
  readonly folder: string
  /** The log so far. */
  log(): readonly Record<string, unknown>[]
  /** Resolves with the first matching line of the log, which may come later. */
  logged(fits: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>
  /** Ends the process if it runs, and removes its folder. */
  remove(): Promise<void>
}

/** Returns entries of a map of plugins for fixtures. */
export function fromFixtures(folders: readonly string[], required: boolean): Record<string, unknown> {
  return Object.fromEntries(folders.map((folder) => [folder, { from: join(fixtures, folder), required }]))
}

export interface ProcessOptions {
  /** Arguments after `start`. */
  readonly args?: readonly string[]
  /** Gives the node a channel to this process. */
  readonly ipc?: boolean
  /** Variables of the process beside those that every node needs. */
  readonly env?: Readonly<Record<string, string>>
  /** Starts the node of a checkout with `runtime.js`, as `npm start` does. */
  readonly launcher?: boolean
}

/** Starts a node with a configuration of a preset, plugins and the owner. */
export async function startNodeProcess(
  configuration: Readonly<Record<string, unknown>>,
  { args = [], ipc = false, env = {}, launcher = false }: ProcessOptions = {},
): Promise<NodeProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-boot-'))
  const file = join(folder, 'nodekeep.json')
  const whole = { data: './data', auth: { owner: wallet }, loader: shortLimits, ...configuration }
  await writeFile(file, JSON.stringify(whole, null, 2))
  const { PATH, XDG_CACHE_HOME } = process.env
  const child = spawn(
    process.execPath,
    [
      launcher ? runtime : '--conditions=nodekeep-source',
      cli,
      ...['start', '--config', 'nodekeep.json', '--port', '0', ...args],
    ],
    {
      cwd: folder,
      env: { PATH, XDG_CACHE_HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
    },
  ) as ChildProcessWithoutNullStreams
  const output = { stdout: '', stderr: '' }
  const watchers = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
      for (const watcher of watchers) watcher()
    })
  }
  const end = once(child, 'close').then(([code, signal]) => ({ code, signal, ...output }) as End)
  const log = () => linesOf(output.stdout)
  const logged = (fits: (line: Record<string, unknown>) => boolean) => {
    const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>()
    const look = () => {
      const line = log().find(fits)
      if (line !== undefined) resolve(line)
    }
    watchers.add(look)
    look()
    end.then(({ stderr }) => reject(new Error(`The node ended before: ${stderr}`)))
    return promise.finally(() => watchers.delete(look))
  }
  const ready = logged(({ msg }) => msg === 'The node is ready.').then(({ url }) => new URL(String(url)))
  ready.catch(() => {})
  return {
    child,
    file,
    folder,
    ready,
    end,
    log,
    logged,
    async remove() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await end
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function linesOf(stdout: string): Record<string, unknown>[] {
  const whole = stdout.slice(0, stdout.lastIndexOf('\n') + 1)
  return whole.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
}

/** The signed-in owner of a node. */
interface Owner {
  readonly token: string
  /** Calls `fetch` with a path of the node and the owner's session. */
  ask(path: string, init?: RequestInit): Promise<Response>
}

/** Signs the owner in to a node with the fixture `trusting-login`. */
export async function signInOwner(url: URL): Promise<Owner> {
  const answer = await fetch(new URL('/auth/trusting', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uuid: wallet, address: wallet, token: 'trust me' }),
  })
  const { sessionToken: token } = (await answer.json()) as { sessionToken: string }
  return {
    token,
    ask(path, init = {}) {
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${token}`)
      return fetch(new URL(path, url), { ...init, headers })
    },
  }
}

/** Returns the owner's view of all plugins, by id. */
export async function listPlugins({ ask }: Owner): Promise<ReadonlyMap<string, PluginDescription>> {
  const { plugins } = (await (await ask('/api/system/plugins')).json()) as { plugins: PluginDescription[] }
  return new Map(plugins.map((plugin) => [plugin.id, plugin]))
}
