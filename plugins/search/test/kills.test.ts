import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { found, put, search, statusOf, untilComplete } from './fixtures/search-node.ts'

/** Kills, unless the environment sets another number. */
const kills = Number(process.env.TEST_RUNS ?? 3)

/** Files that are written before each kill. */
const filesPerRound = 40

interface RunningNode {
  readonly child: ChildProcess
  readonly user: { fetch(path: string, init?: RequestInit): Promise<Response> }
}

t.test('a node that is killed goes on with its search', async (t) => {
  const dataFolder = t.testdir()
  let node = await start(t, dataFolder)
  const written: string[] = []
  for (let round = 0; round < kills; round += 1) {
    const { child, user } = node
    for (let number = 0; number < filesPerRound; number += 1) {
      const path = `/${round}/${number}.txt`
      await put(user, path, `common ${words(`${round}x${number}`)}`)
      written.push(path)
    }
    // The moment is any of those in which files are read, extracted or stored.
    await delay(randomInt(150))
    child.kill('SIGKILL')
    await once(child, 'exit')
    node = await start(t, dataFolder)
    const { entries } = await search(node.user, 'common')
    t.ok(
      entries.every(({ path }) => written.includes(path)),
      'no entry is there that was never stored',
    )
  }
  await untilComplete(node.user)
  t.strictSame((await found(node.user, 'common')).sort(), written.sort())
  t.strictSame(await found(node.user, words('1x7')), ['/1/7.txt'])
  const { indexed, failed } = await statusOf(node.user)
  t.strictSame([indexed, failed], [written.length, {}])
})

/** Starts a node as a process. */
async function start(t: Test, dataFolder: string): Promise<RunningNode> {
  const program = fileURLToPath(new URL('fixtures/search-process.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=nodekeep-source', program, dataFolder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { url, token } = JSON.parse(line) as { readonly url: string; readonly token: string }
  return {
    child,
    user: {
      fetch(path, init = {}) {
        const headers = new Headers(init.headers)
        headers.set('authorization', `Bearer ${token}`)
        return fetch(new URL(path, url), { ...init, headers })
      },
    },
  }
}

function words(name: string): string {
  return `word${name}`
}
