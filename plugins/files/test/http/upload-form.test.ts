import t, { type Test } from 'tap'
import { createFilesNode, get } from '../fixtures/files-node.ts'
import { temporaryFiles, untilEmpty } from '../fixtures/leftovers.ts'
import { multipart, type Part } from '../fixtures/multipart.ts'
import { openRaw, requestHead } from '../fixtures/raw-http.ts'

const path: Part = { name: 'path', content: '/stored' }
const file: Part = { name: 'file', content: 'content', filename: 'name' }

t.test('invalid forms are refused', async (t) => {
  const node = await createFilesNode(
    { maxFileSize: 1_000_000 },
    { config: { server: { bodyTimeoutSeconds: 0.5 } } },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const send = (body: string | Buffer<ArrayBuffer>, contentType: string) =>
    ada.fetch('/write', { method: 'POST', body, headers: { 'content-type': contentType } })
  const nothingIsLeft = async (t: Test) => {
    t.equal((await get(ada, 'stat', '/stored')).status, 404, 'nothing was stored')
    t.strictSame(await untilEmpty(() => temporaryFiles(node)), [])
  }

  t.test('errors name missing, double and unknown parts', async (t) => {
    const cases: [Part[], RegExp][] = [
      [[], /no part "file"|not a complete form/],
      [[path], /no part "file"/],
      [[file], /no part "path"/],
      [[path, file, file], /several parts "file"/],
      [[file, path, file], /several parts "file"/],
      [[path, path, file], /several parts "path"/],
      [[file, path, path], /several parts "path"/],
      [[path, file, { name: 'mode', content: '0644' }], /"mode".*not supported/],
      [[{ name: 'mode', content: '0644' }, path, file], /"mode".*not supported/],
      [[path, { ...file, name: 'upload' }], /"upload".*not supported/],
      [[{ ...path, filename: 'path' }, file], /"path" must be text/],
      [[{ name: 'path', content: `/${'x'.repeat(20_000)}` }, file], /"path" is too long/],
      [
        [path, { ...file, headers: ['content-transfer-encoding: base64'] }],
        /without "content-transfer-encoding"/,
      ],
      [[{ name: 'path', content: 'stored' }, file], /begin with "\/"/],
      [[file, { name: 'path', content: '/..' }], /"\.\."/],
    ]
    for (const [parts, message] of cases) {
      const { body, contentType } = multipart(parts)
      const answer = await send(body, contentType)
      t.equal(answer.status, 400, parts.map(({ name }) => name).join())
      t.match(await answer.json(), { error: true, code: 'VALIDATION_ERROR', message })
    }
    await nothingIsLeft(t)
  })

  t.test('incomplete forms are refused', async (t) => {
    const { body, contentType } = multipart([path, file], 'edge')
    const text = body.toString()
    const cases = [
      send('', contentType),
      send('anything', contentType),
      send(body, 'multipart/form-data'),
      send(body, 'multipart/form-data; boundary=other'),
      send(text.slice(0, -10), contentType),
      send(text.slice(0, text.indexOf('content') + 3), contentType),
      send(text.slice(0, text.indexOf('tent')), contentType),
      send('--edge\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n', contentType),
      send(`--edge\r\n${'x-many: header\r\n'.repeat(5000)}\r\n\r\n--edge--\r\n`, contentType),
    ]
    for (const [index, answer] of (await Promise.all(cases)).entries()) {
      t.equal(answer.status, 400, `case ${index}`)
      t.match(await answer.json(), { error: true, code: 'VALIDATION_ERROR' })
    }
    await nothingIsLeft(t)
  })

  t.test('an endless body is refused at the limit', async (t) => {
    for (const start of ['', '--edge\r\ncontent-disposition: form-data; name="other"\r\n\r\n']) {
      const raw = await openRaw(node)
      await raw.send(
        requestHead(ada, 'POST /write', {
          'content-type': 'multipart/form-data; boundary=edge',
          'transfer-encoding': 'chunked',
        }),
      )
      if (start !== '') await raw.send(`${start.length.toString(16)}\r\n${start}\r\n`)
      const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
      for (let sent = 0; sent < 40 && !raw.socket.destroyed; sent += 1) await raw.send(chunk)
      t.match(await raw.rest(), /^HTTP\/1\.1 4(00|13) /)
    }
    await nothingIsLeft(t)
  })

  t.test('a form that stops arriving is refused at the time limit', async (t) => {
    const { body, contentType } = multipart([path, file])
    const giveUpAfter = async (cut: number) => {
      const raw = await openRaw(node)
      const headers = { 'content-type': contentType, 'content-length': body.length }
      await raw.send(requestHead(ada, 'POST /write', headers))
      await raw.send(body.subarray(0, cut))
      t.match(await raw.rest(), /^HTTP\/1\.1 408 /, `after ${cut} bytes`)
    }
    await Promise.all([0, 30, body.length - 30, body.length - 1].map(giveUpAfter))
    await nothingIsLeft(t)
  })
})

t.test('a form that arrives byte by byte is stored', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const parts of [
    [path, file],
    [file, path],
  ]) {
    const { body, contentType } = multipart(parts)
    const raw = await openRaw(node)
    raw.socket.setNoDelay(true)
    await raw.send(
      requestHead(ada, 'POST /write', { 'content-type': contentType, 'content-length': body.length }),
    )
    for (const byte of body) await raw.send(Buffer.of(byte))
    t.match(await raw.rest(), /^HTTP\/1\.1 200 /)
    t.equal(await (await get(ada, 'read', '/stored')).text(), 'content')
  }
})
