import { stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createFilesNode, get, put } from '../fixtures/files-node.ts'
import { openFiles, temporaryFiles, untilEmpty } from '../fixtures/leftovers.ts'
import { multipart } from '../fixtures/multipart.ts'
import { openRaw, requestHead } from '../fixtures/raw-http.ts'

/** Milliseconds for which a body may pause. */
const stall = 600

const megabyte = 1024 * 1024

/** A node with a short time limit, and uploads to it. */
async function nodeWithTimeLimit(t: Test) {
  const node = await createFilesNode({}, { config: { server: { bodyTimeoutSeconds: stall / 1000 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()

  /** The ways to send a file: the bytes before and after its content. */
  const ways = (length: number) => {
    const file = { name: 'file', content: 'bytes-of-the-file', filename: 'x' }
    const path = { name: 'path', content: '/slow' }
    const forms = [
      [path, file],
      [file, path],
    ].map((parts) => {
      const { body, contentType } = multipart(parts, 'edge')
      const [before = '', after = ''] = body.toString().split(file.content)
      return { target: 'POST /write', type: contentType, before, after }
    })
    return [{ target: 'PUT /write?path=/slow', type: 'text/plain', before: '', after: '' }, ...forms].map(
      ({ target, type, before, after }) => ({
        before:
          requestHead(ada, target, {
            'content-type': type,
            'content-length': before.length + length + after.length,
          }) + before,
        after,
      }),
    )
  }
  const nothingIsLeft = async () => {
    t.equal((await get(ada, 'stat', '/slow')).status, 404, 'nothing was stored')
    t.strictSame(await untilEmpty(() => temporaryFiles(node)), [], 'no temporary file exists')
    t.strictSame(await untilEmpty(() => openFiles(node)), [], 'no file is open')
    t.equal((await put(ada, '/works', 'x')).status, 200)
  }
  return { node, ada, ways, nothingIsLeft }
}

// Concurrent: the tests mostly wait.
t.test('slow uploads work within the time limit', { jobs: 3 }, async (t) => {
  t.test('an upload that never pauses is accepted, however long it takes', async (t) => {
    const { node, ada, ways } = await nodeWithTimeLimit(t)
    const pieces = 30
    await Promise.all(
      ways(pieces).map(async ({ before, after }) => {
        const raw = await openRaw(node)
        await raw.send(before)
        const began = performance.now()
        for (let sent = 0; sent < pieces; sent += 1) {
          await delay((3 * stall) / pieces)
          await raw.send('x')
        }
        await raw.send(after)
        t.match(await raw.rest(), /^HTTP\/1\.1 200 /)
        t.ok(performance.now() - began > 2 * stall, 'it took longer than an upload may pause')
      }),
    )
    t.equal(await (await get(ada, 'read', '/slow')).text(), 'x'.repeat(pieces))
    await ada.fetch('/delete', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"path":"/slow"}',
    })
  })

  t.test('a paused upload is on the disk, not in memory, and is removed at the time limit', async (t) => {
    const { node, ways, nothingIsLeft } = await nodeWithTimeLimit(t)
    const uploads = ways(4 * megabyte)
    const stored = new Set<string>()
    const answers = uploads.map(async ({ before }) => {
      const raw = await openRaw(node)
      await raw.send(before)
      for (let sent = 0; sent < 48; sent += 1) await raw.send(Buffer.alloc(megabyte / 16, 'x'))
      return raw.rest()
    })
    const answered = Promise.all(answers)
    let waiting = true
    answered.finally(() => {
      waiting = false
    })
    while (waiting && stored.size < uploads.length) {
      for (const file of await temporaryFiles(node)) {
        const size = await stat(file).then(
          ({ size }) => size,
          () => 0,
        )
        if (size >= 2 * megabyte) stored.add(file)
      }
    }
    t.equal(
      stored.size,
      uploads.length,
      'at least 2 of the 3 MiB of each upload are stored before the rest arrives',
    )
    for (const answer of await answered) t.match(answer, /^HTTP\/1\.1 408 .*REQUEST_TIMEOUT/s)
    await nothingIsLeft()
  })

  t.test('many uploads can pause at the same time', async (t) => {
    const { node, ways, nothingIsLeft } = await nodeWithTimeLimit(t)
    const answers = Array.from({ length: 30 }, async (_, n) => {
      const raw = await openRaw(node)
      await raw.send(ways(1000)[n % 3]?.before ?? '')
      await raw.send('x'.repeat(n))
      return raw.rest()
    })
    for (const answer of await Promise.all(answers)) t.match(answer, /^HTTP\/1\.1 408 /)
    await nothingIsLeft()
  })
})
