import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { fixture, photosOf, put, sidesOf, untilComplete, varied } from '../fixtures/preview-node.ts'

const program = fileURLToPath(new URL('../fixtures/previews-process.ts', import.meta.url))

/** Starts a node in a process of its own. */
async function start(dataFolder: string) {
  // tap adds options that the node must not get.
  const { NODE_OPTIONS: _options, ...env } = process.env
  const child = spawn(process.execPath, ['--conditions=nodekeep-source', program, dataFolder], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended.then(() => ['{}'])])
  const { url, token } = JSON.parse(String(line)) as { url: string; token: string }
  const owner: Pick<TestUser, 'fetch'> = {
    fetch: (path, init = {}) =>
      fetch(new URL(path, url), { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } }),
  }
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  return { owner: owner as TestUser, kill }
}

t.test('a node that is killed at any moment goes on at its next start', async (t) => {
  const dataFolder = t.testdir()
  const paths: string[] = []
  for (let round = 0; round < 3; round += 1) {
    const { owner, kill } = await start(dataFolder)
    for (let photo = 0; photo < 4; photo += 1) {
      const path = `/${round}-${photo}.jpg`
      await put(owner, path, varied(fixture('photo.jpg')))
      paths.push(path)
    }
    const ms = Math.floor(Math.random() * 4000)
    t.comment(`killed after ${ms} ms`)
    await delay(ms)
    await kill()
  }
  const { owner, kill } = await start(dataFolder)
  try {
    t.match(await untilComplete(owner), { waiting: 0, made: paths.length, failed: {} })
    t.equal((await photosOf(owner)).photos.length, paths.length)
    for (const path of paths) t.strictSame(await sidesOf(owner, path), [192, 256], path)
  } finally {
    await kill()
  }
})
