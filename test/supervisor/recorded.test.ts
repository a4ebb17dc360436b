import { spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { BoundSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { root } from '../run/command.ts'
import { exchangesIn, type Message, recordedFile } from './recorded-exchange.ts'
import { SupervisorProcess } from './supervisor-process.ts'

/**
 * The messages, and the files of the supervisor, of an update that fails on trial, one that is installed, and a way back. The release
 * 0.1.0 has said and written them.
 */
const file = join(root, 'plugins/update/test/supervisor/fixtures/recorded/exchange.jsonl')
const recording = readFileSync(file, 'utf8')
const cli = join(root, 'kernel/bin/nodekeep.js')

async function temporaryFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-recorded-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('the supervisor runs nodes of a former release, and says to them what its own supervisor has said', async (t) => {
  const folder = await temporaryFolder(t)
  const releases = join(folder, 'data/releases')
  mkdirSync(join(releases, '1.0.0/bin'), { recursive: true })
  writeFileSync(join(folder, 'nodekeep.json'), JSON.stringify({ data: './data', server: { port: 0 } }))
  writeFileSync(join(releases, '1.0.0/release.json'), JSON.stringify({ version: '1.0.0', schema: [] }))
  const node = `"${process.execPath}" --conditions=nodekeep-source`
  const player = `"${join(import.meta.dirname, 'fixtures/recorded-node.ts')}" "${file}" "${folder}"`
  const script = `#!/bin/sh\nif [ "$1" = supervise ]; then exec ${node} "${cli}" "$@"; fi\nexec ${node} ${player} "$@"\n`
  writeFileSync(join(releases, '1.0.0/bin/nodekeep'), script)
  chmodSync(join(releases, '1.0.0/bin/nodekeep'), 0o755)
  symlinkSync('1.0.0', join(releases, 'current'))
  const { PATH, XDG_CACHE_HOME } = process.env
  const supervisor = new SupervisorProcess(folder, { PATH, XDG_CACHE_HOME, HOME: folder })
  t.teardown(() => supervisor.end('SIGKILL'))
  supervisor.start(join(releases, 'current/bin/nodekeep'), ['supervise'])

  const read = (name: string) => {
    const path = join(releases, name)
    return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null
  }
  const exchanges = exchangesIn(recording)
  const starts = join(folder, 'starts')
  while (!existsSync(starts) || Number(readFileSync(starts, 'utf8')) < exchanges.length) await delay(50)
  t.strictSame(await supervisor.end('SIGTERM'), [0, null])

  const heard = readFileSync(join(folder, 'heard'), 'utf8').trim().split('\n')
  t.equal(heard.length, exchanges.length)
  for (const [index, { args, env, messages }] of exchanges.entries()) {
    const said = messages.filter(({ to }) => to === 'node').map(({ message }) => message)
    const expected = JSON.stringify({ args, env, heard: said }).replaceAll('/node/', `${folder}/`)
    t.match(JSON.parse(heard[index] ?? ''), JSON.parse(expected), `the node ${index + 1}`)
    t.notMatch(heard[index], 'LISTEN_PID', 'the process id is that of the supervisor')
  }
  const recorded = recordedFile(recording, 'history.json') as readonly Record<string, unknown>[]
  const timeless = recorded.map(({ startedAt: _startedAt, endedAt: _endedAt, ...attempt }) => attempt)
  t.match(read('history.json'), timeless)
  t.match(read('state.json'), recordedFile(recording, 'state.json') as object)
})

test('a node follows the supervisor of a former release, and answers what its own node has answered', async (t) => {
  for (const { version, args, env, messages, code } of exchangesIn(recording).slice(1, 4)) {
    const folder = await temporaryFolder(t)
    const plugins = { switchable: { from: join(import.meta.dirname, 'fixtures/switchable') } }
    mkdirSync(join(folder, 'data/releases'), { recursive: true })
    writeFileSync(join(folder, 'nodekeep.json'), JSON.stringify({ data: './data', plugins }))
    const socket = new BoundSocket({ host: '127.0.0.1', port: 0 })
    const { PATH, XDG_CACHE_HOME } = process.env
    const variables = { RELEASE_VERSION: version, RELEASE_BEHAVIOR: version === '2.0.0' ? 'fails' : 'fine' }
    const node = spawn(process.execPath, ['--conditions=nodekeep-source', cli, ...args], {
      cwd: folder,
      env: { PATH, XDG_CACHE_HOME, ...env, ...variables },
      stdio: ['ignore', 'ignore', 'ignore', socket.fd(), 'ipc'],
    })
    t.teardown(() => node.kill('SIGKILL'))
    const exit = once(node, 'exit')
    const answers = on(node, 'message', { signal: AbortSignal.timeout(120_000) })
    let url = ''
    for (const { to, message } of messages) {
      if (to === 'node') {
        node.send(JSON.parse(JSON.stringify(message).replaceAll('/node/', `${folder}/`)))
        continue
      }
      if (message.nodekeep === 'go back' || message.nodekeep === 'change release')
        void askForRelease(url, message)
      const [answer] = (await answers.next()).value as [Message]
      if (answer.nodekeep === 'serving') url = String(answer.url)
      const expected =
        message.nodekeep === 'serving' ? { ...message, url: /^http:\/\/127\.0\.0\.1:\d+\/$/ } : message
      t.match(answer, expected, `${version}: ${message.nodekeep}`)
    }
    t.strictSame(await exit, [code, null], `the exit code of ${version}`)
  }
})

/** Lets the plugin of a node ask for the release that a message is about. */
async function askForRelease(url: string, { release }: Message): Promise<void> {
  const ask = async (body: object) => {
    const headers = { 'content-type': 'application/json', connection: 'close' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await (await fetch(new URL('/releases', url), init)).json()) as { readonly folder: string }
  }
  if (release === undefined) return void (await ask({ action: 'back' }))
  const { folder } = await ask({ action: 'prepare', version: release })
  writeFileSync(join(folder, 'release.json'), JSON.stringify({ version: release, schema: [] }))
  await ask({ action: 'change', folder })
}
