import t from 'tap'
import { createFilesNode, get, put, upload } from '../fixtures/files-node.ts'

t.test('a client sets the time of a file', async (t) => {
  const node = await createFilesNode({ mounts: { '/memory': 'memory' } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const timeOf = async (path: string) =>
    ((await (await get(ada, 'stat', path)).json()) as { modified: string }).modified

  for (const send of [put, upload]) {
    for (const path of ['/file', '/memory/file']) {
      for (const [header, time] of [
        ['981173106', '2001-02-03T04:05:06.000Z'],
        ['981173106.789', '2001-02-03T04:05:06.789Z'],
        ['0', '1970-01-01T00:00:00.000Z'],
        ['-86400', '1969-12-31T00:00:00.000Z'],
      ] as const) {
        const answer = await send(ada, path, 'x', { 'x-oc-mtime': header })
        t.equal(answer.status, 200)
        t.equal(answer.headers.get('x-oc-mtime'), 'accepted')
        t.equal(await timeOf(path), time)
        t.equal(
          (await get(ada, 'read', path)).headers.get('last-modified'),
          new Date(Math.floor(Date.parse(time) / 1000) * 1000).toUTCString(),
        )
      }
    }
  }

  t.test('a time in the future is not kept, and not accepted', async (t) => {
    const future = Math.floor(Date.now() / 1000) + 86_400
    const answer = await put(ada, '/file', 'x', { 'x-oc-mtime': String(future) })
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('x-oc-mtime'), null)
    t.ok(Date.parse(await timeOf('/file')) < future * 1000)
  })

  t.test('without the header, the time is that of the write', async (t) => {
    const before = Date.now() - 2000
    const answer = await put(ada, '/file', 'x')
    t.equal(answer.headers.get('x-oc-mtime'), null)
    t.ok(Date.parse(await timeOf('/file')) > before)
  })

  t.test('anything but a number of seconds is refused, and the file stays', async (t) => {
    const etag = (await put(ada, '/file', 'kept')).headers.get('etag')
    for (const header of [
      '',
      'now',
      '0x10',
      '1e9',
      '2001-02-03',
      '12345678901234',
      '9999999999999',
      '1 2',
      '--1',
    ]) {
      const answer = await put(ada, '/file', 'lost', { 'x-oc-mtime': header })
      t.equal(answer.status, 400, header)
      t.match(await answer.json(), { code: 'VALIDATION_ERROR', message: /x-oc-mtime.*seconds since 1970/ })
    }
    t.equal((await get(ada, 'read', '/file')).headers.get('etag'), etag)
  })
})
