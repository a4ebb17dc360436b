import t, { type Test } from 'tap'
import { createFilesNode, get, put } from '../fixtures/files-node.ts'
import { multipart } from '../fixtures/multipart.ts'
import { openRaw, requestHead } from '../fixtures/raw-http.ts'

t.test('paths that are not UTF-8 are refused everywhere', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const names = async () => (await (await get(ada, 'readdir', '/')).json()) as { name: string }[]
  const refused = async (t: Test, answer: Promise<Response>, what: string) => {
    const { status, ...rest } = await answer.then(async (it) => ({
      status: it.status,
      ...((await it.json()) as object),
    }))
    t.equal(status, 400, what)
    t.match(rest, { error: true, code: 'VALIDATION_ERROR' }, what)
  }
  const illegible = ['a\xff', 'a\xc3', '\xed\xa0\x80', '\xc0\xaf', '\xf5\x80\x80\x80'].map((name) =>
    Buffer.from(`/${name}`, 'latin1'),
  )

  t.test('a path in a query is refused', async (t) => {
    for (const query of ['/a%ff', '/a%c3', '/%ed%a0%80', '/%c0%af', '/100%', '/%zz', '/%u00e9']) {
      for (const [method, endpoint] of [
        ['GET', 'read'],
        ['GET', 'stat'],
        ['GET', 'readdir'],
        ['PUT', 'write'],
      ] as const) {
        const body = method === 'PUT' ? { body: 'x' } : {}
        await refused(t, ada.fetch(`/${endpoint}?path=${query}`, { method, ...body }), `${endpoint} ${query}`)
      }
      t.equal((await ada.fetch(`/read?path=${query}`, { method: 'HEAD' })).status, 400)
    }
    const raw = await openRaw(node)
    await raw.send(
      Buffer.from(requestHead(ada, 'PUT /write?path=/caf\xe9', { 'content-length': 0 }), 'latin1'),
    )
    t.match(await raw.rest(), /^HTTP\/1\.1 400 /)
  })

  t.test('a path in a form is refused', async (t) => {
    const file = { name: 'file', content: 'x', filename: 'x' }
    for (const content of illegible) {
      for (const headers of [
        [],
        ['content-type: text/plain; charset=utf-8'],
        ['content-type: text/plain; charset=latin1'],
      ]) {
        const path = { name: 'path', content, headers }
        for (const parts of [
          [path, file],
          [file, path],
        ]) {
          const { body, contentType } = multipart(parts)
          const sent = ada.fetch('/write', { method: 'POST', body, headers: { 'content-type': contentType } })
          await refused(t, sent, `${content.toString('latin1')} as ${headers}`)
        }
      }
    }
  })

  t.test('a path in a JSON body is refused', async (t) => {
    const bodies = illegible.map((path) => Buffer.concat([Buffer.from('{"path":"'), path, Buffer.from('"}')]))
    const halves = ['\\ud800', '\\udfff', '\\ude00\\ud83d'].map((half) => Buffer.from(`{"path":"/${half}"}`))
    for (const body of [...bodies, ...halves]) {
      for (const endpoint of ['mkdir', 'delete']) {
        const headers = { 'content-type': 'application/json' }
        await refused(t, ada.fetch(`/${endpoint}`, { method: 'POST', headers, body }), body.toString())
      }
    }
  })

  t.test('nothing was stored', async (t) => t.strictSame(await names(), []))

  t.test('valid requests work', async (t) => {
    const path = '/50% & + # ü \ufffd \ufeff 🗝'
    t.equal((await put(ada, path, 'x')).status, 200)
    t.equal((await get(ada, 'read', path)).status, 200)
    const headers = ['content-type: text/plain; charset=UTF-8']
    const { body, contentType } = multipart([
      { name: 'path', content: path, headers },
      { name: 'file', content: 'y', filename: 'x' },
    ])
    const sent = await ada.fetch('/write', { method: 'POST', body, headers: { 'content-type': contentType } })
    t.strictSame(await sent.json(), { success: true, path })
    const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const made = await ada.fetch('/mkdir', { ...json, body: JSON.stringify({ path: `${path} folder` }) })
    t.strictSame(await made.json(), { success: true, path: `${path} folder` })
    t.equal((await ada.fetch('/mkdir', { ...json, body: '' })).status, 400)
    t.equal((await ada.fetch('/mkdir', { ...json, body: '{"path":"/a","__proto__":{}}' })).status, 400)
    t.strictSame(
      (await names()).map(({ name }) => `/${name}`),
      [path, `${path} folder`],
    )
  })
})
