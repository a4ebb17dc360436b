import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { begin, offsetOf, patch, sendForm } from '../fixtures/guest-uploads.ts'
import { call, link, namesIn, shareOf } from '../fixtures/share-node.ts'

const content = '0123456789'

interface RunningNode {
  readonly child: ChildProcess
  readonly exited: Promise<unknown>
  readonly uuid: string
  /** Sends requests of guests. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  readonly owner: { fetch(path: string, init?: RequestInit): Promise<Response> }
}

/** Starts a node as a process. */
async function start(t: Test, dataFolder: string): Promise<RunningNode> {
  const program = fileURLToPath(new URL('../fixtures/shares-process.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=nodekeep-source', program, dataFolder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface(child.stdout), 'line')
  const { url, token, uuid } = JSON.parse(line)
  return {
    child,
    exited,
    uuid,
    fetch: (path, init) => fetch(new URL(path, url), init),
    owner: {
      fetch(path, init = {}) {
        const headers = new Headers(init.headers)
        headers.set('authorization', `Bearer ${token}`)
        return fetch(new URL(path, url), { ...init, headers })
      },
    },
  }
}

/** Counts what a node that was killed has on the disk: files that are stored, those that are counted, and uploads that have not ended. */
function stateOf(dataFolder: string, { uuid }: RunningNode, share: string): [number, number, number] {
  const valueIn = (file: string, select: string) => {
    const database = new DatabaseSync(join(dataFolder, 'plugins/shares', file), { readOnly: true })
    try {
      return Number(database.prepare(select).get(share)?.value)
    } finally {
      database.close()
    }
  }
  return [
    readdirSync(join(dataFolder, 'files', uuid, 'in')).filter((name) => !name.startsWith('.')).length,
    valueIn('shares.sqlite', 'SELECT dropped_files AS value FROM shares WHERE id = ?'),
    valueIn(
      'not-in-backups/uses.sqlite',
      'SELECT count(*) AS value FROM uploads WHERE share = ? AND finished = 0',
    ),
  ]
}

/** Asks a node to be killed, sends a file, and returns whether the node has answered before. */
async function sendUntilKilled(
  node: RunningNode,
  step: number,
  send: () => Promise<Response>,
): Promise<boolean> {
  await call(node.owner, 'POST', `/kill?before=${step}`, {})
  const answer = await send().catch((error) => {
    // `fetch` fails like this when the node is killed.
    if (!(error instanceof TypeError)) throw error
  })
  if (answer === undefined) await node.exited
  else if (!answer.ok) throw new Error(await answer.text())
  return answer !== undefined
}

t.test('after a kill at any step, a file is stored once, and counted once', async (t) => {
  const dataFolder = t.testdir()
  let node = await start(t, dataFolder)
  await call(node.owner, 'POST', '/mkdir', { path: '/in' })
  await call(node.owner, 'PUT', `/api/files/quotas/${node.uuid}`, { quota: 1_000_000 })
  const { path, id } = await link(node.owner, '/in', { kind: 'drop', maxFiles: 100 })
  let files = 0
  const check = async (what: string) => {
    const bytes = files * content.length
    t.equal((await namesIn(node.owner, '/in')).length, files, what)
    t.match(await shareOf(node.owner, id), { dropped: { files, bytes }, used: { uploads: files, bytes } })
    t.match(await (await node.owner.fetch('/api/files/usage')).json(), { quota: { taken: bytes } })
  }
  const killed = new Set<string>()
  const restart = async () => {
    const [stored, counted, open] = stateOf(dataFolder, node, id)
    killed.add(`${stored - files} stored, ${counted - files} counted, ${open} open`)
    node = await start(t, dataFolder)
    return stored
  }

  for (let step = 1, isAnswered = false; !isAnswered; step += 1) {
    const address = (await begin(node, path, 'a.txt', content.length)).headers.get('location') ?? ''
    isAnswered = await sendUntilKilled(node, step, () => patch(node, address, 0, content))
    if (!isAnswered) {
      await restart()
      const offset = await offsetOf(node, address)
      if (offset < content.length)
        t.equal((await patch(node, address, offset, content.slice(offset))).status, 204)
    }
    files += 1
    t.equal(await offsetOf(node, address), content.length, 'the guest learns that it is done')
    await check(`killed before step ${step}`)
  }
  const states = ['0 stored, 0 counted, 1 open', '1 stored, 0 counted, 1 open', '1 stored, 1 counted, 1 open']
  for (const state of [...states, '1 stored, 1 counted, 0 open'])
    t.ok(killed.has(state), `the node was killed with ${state}: ${[...killed].join('; ')}`)

  killed.clear()
  // Before the third step, nothing of a form is stored.
  for (let step = 3; ; step += 1) {
    if (await sendUntilKilled(node, step, () => sendForm(node, path, { 'a.txt': content }))) break
    files = await restart()
    // Nobody goes on with a form, so the node ends it by itself.
    while (stateOf(dataFolder, node, id)[2] > 0) await delay(20)
    await check(`killed before step ${step} of a form`)
  }
  for (const state of states.slice(1)) t.ok(killed.has(state), `${state}: ${[...killed].join('; ')}`)
})
