import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createFilesNode, get, put } from '../fixtures/files-node.ts'
import { openFiles, temporaryFiles, untilEmpty } from '../fixtures/leftovers.ts'
import { multipart } from '../fixtures/multipart.ts'
import { openRaw, requestHead } from '../fixtures/raw-http.ts'

const megabyte = 1024 * 1024

t.test('the node cleans up after clients that close their connections', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const checkNoLeftovers = async (t: Test) => {
    t.strictSame(await untilEmpty(() => temporaryFiles(node)), [], 'no temporary file exists')
    t.strictSame(await untilEmpty(() => openFiles(node)), [], 'no file is open')
    t.equal((await put(ada, '/works', 'still')).status, 200)
  }

  t.test('a client disconnects in the middle of an upload', async (t) => {
    const file = { name: 'file', content: Buffer.alloc(3 * megabyte), filename: 'large' }
    const path = { name: 'path', content: '/aborted' }
    const uploads = [
      [path, file],
      [file, path],
    ].flatMap((parts) => {
      const { body, contentType } = multipart(parts)
      const head = (length: object) =>
        requestHead(ada, 'POST /write', { 'content-type': contentType, ...length })
      return [{ body, head: head({ 'content-length': body.length }) }]
    })
    const raw = {
      body: file.content,
      head: requestHead(ada, 'PUT /write?path=/aborted', { 'content-length': 3 * megabyte }),
    }
    for (const { head, body } of [...uploads, raw]) {
      for (const share of [0, 0.1, 0.99]) {
        const connection = await openRaw(node)
        await connection.send(head)
        await connection.send(body.subarray(0, body.length * share))
        connection.socket.destroy()
      }
      const halfway = await openRaw(node)
      await halfway.send(head)
      await halfway.send(body.subarray(0, megabyte))
      halfway.socket.end()
      await halfway.rest()
    }
    await checkNoLeftovers(t)
    t.equal((await get(ada, 'stat', '/aborted')).status, 404)
  })

  t.test('a client disconnects in the middle of a download', async (t) => {
    await put(ada, '/large', Buffer.alloc(40 * megabyte, 'x'))
    for (const bytes of [0, 1, megabyte]) {
      for (let round = 0; round < 5; round += 1) {
        const connection = await openRaw(node)
        await connection.send(requestHead(ada, 'GET /read?path=/large', {}))
        await connection.received(bytes)
        connection.socket.destroy()
      }
    }
    await checkNoLeftovers(t)
  })

  t.test('a client disconnects with several pipelined downloads on one connection', async (t) => {
    const connection = await openRaw(node)
    connection.socket.pause()
    const head = requestHead(ada, 'GET /read?path=/large', { connection: 'keep-alive' })
    await connection.send(head.repeat(4))
    while ((await openFiles(node)).length === 0) await get(ada, 'stat', '/large')
    connection.socket.destroy()
    await checkNoLeftovers(t)
  })

  t.test('a client disconnects in the middle of a listing', async (t) => {
    const folder = join(node.dataFolder, 'files', ada.user.uuid, 'many')
    await mkdir(folder)
    await Promise.all(Array.from({ length: 1500 }, (_, index) => writeFile(join(folder, `${index}`), '')))
    for (let round = 0; round < 5; round += 1) {
      const connection = await openRaw(node)
      await connection.send(requestHead(ada, 'GET /readdir?path=/many', {}))
      await connection.until(/HTTP/)
      connection.socket.destroy()
    }
    const entries = (await (await get(ada, 'readdir', '/many')).json()) as unknown[]
    t.equal(entries.length, 1500)
    await checkNoLeftovers(t)
  })

  t.test('a client disconnects before the answer of a listing begins', async (t) => {
    const folder = join(node.dataFolder, 'files', ada.user.uuid, 'crowded')
    await mkdir(folder)
    await Promise.all(Array.from({ length: 600 }, (_, index) => writeFile(join(folder, `${index}`), '')))
    // Each client disconnects a few turns of the event loop later than the one before.
    const clients = Array.from({ length: 30 }, async (_, index) => {
      const connection = await openRaw(node)
      await connection.send(requestHead(ada, 'GET /readdir?path=/crowded', {}))
      for (let turns = index * 3; turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve))
      connection.socket.destroy()
    })
    await Promise.all(clients)
    await checkNoLeftovers(t)
  })

  t.test('a download continues unchanged when its file is removed or replaced', async (t) => {
    const connection = await openRaw(node)
    connection.socket.pause()
    await connection.send(requestHead(ada, 'GET /read?path=/large', {}))
    while ((await openFiles(node)).length === 0) await get(ada, 'stat', '/large')
    await put(ada, '/large', 'new')
    connection.socket.resume()
    const answer = await connection.rest()
    t.equal(answer.length - answer.indexOf('\r\n\r\n') - 4, 40 * megabyte)
    t.equal(await (await get(ada, 'read', '/large')).text(), 'new')
    await checkNoLeftovers(t)
  })
})

t.test('the start removes temporary files of an earlier run', async (t) => {
  const dataFolder = t.testdir({
    plugins: { files: { incoming: { 'half-a-file': 'x' } } },
    files: { '.nodekeep': { 'write-half': 'x' } },
  })
  const node = await createFilesNode({}, { dataFolder })
  t.teardown(() => node.stop())
  t.strictSame(await temporaryFiles(node), [])
})
