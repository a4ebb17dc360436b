import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { proofOf, wallet } from '../sign-in/fixtures/trusting-login.ts'
import type { Bench } from './bench.ts'
import { residentMB, startServer } from './process.ts'

const photos = 500

/** Seconds after which V8 has given back the memory that the uploads needed. */
const idleSeconds = 20

const fixture = (name: string) => join(import.meta.dirname, 'fixtures', name)

/** Uploads photos to a new node, and measures until all have previews. */
const background: Bench = {
  name: `previews: ${photos} photos of 4 MB have their previews`,
  unit: 's',
  better: 'less',
  goal: { ours: 180 },
  also: [
    {
      name: 'previews: memory of the node afterwards, above that before',
      unit: 'MB',
      better: 'less',
    },
  ],
  rounds: 1,
  fresh: true,
  async setUp() {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-previews-'))
    const file = join(folder, 'photo.jpg')
    await promisify(execFile)(process.execPath, [fixture('previews-photo.ts'), file])
    const photo = await readFile(file)
    return {
      async ours() {
        const node = await startServer(fixture('previews-node.ts'), [join(folder, 'data')])
        try {
          const headers = { authorization: `Bearer ${await signIn(node.url)}` }
          await delay(idleSeconds * 1000)
          const before = await residentMB(node.pid)
          const began = performance.now()
          for (let at = 0; at < photos; at += 1) {
            const target = new URL(`/write?path=/photos/${at}.jpg`, node.url)
            // Bytes after the end of a picture do not count for it.
            const body = Buffer.concat([photo, randomBytes(16)])
            const answer = await fetch(target, { method: 'PUT', headers, body })
            if (!answer.ok) throw new Error(await answer.text())
          }
          for (let made = 0; made < photos; await delay(200)) {
            const answer = await fetch(new URL('/api/previews/status', node.url), { headers })
            ;({ made } = (await answer.json()) as { made: number })
          }
          const seconds = (performance.now() - began) / 1000
          await delay(idleSeconds * 1000)
          return [seconds, (await residentMB(node.pid)) - before]
        } finally {
          await node.stop()
        }
      },
      tearDown: () => rm(folder, { recursive: true, force: true }),
    }
  },
}

async function signIn(url: URL): Promise<string> {
  const answer = await fetch(new URL('/auth/test', url), proofOf(wallet(0)))
  if (!answer.ok) throw new Error(`The sign-in was answered with ${answer.status}: ${await answer.text()}`)
  const { sessionToken } = (await answer.json()) as { sessionToken: string }
  return sessionToken
}

export default [background] satisfies Bench[]
