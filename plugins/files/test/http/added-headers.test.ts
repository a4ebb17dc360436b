import { definePlugin, type FileHeaderSource, FileHeaders } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { createFilesNode, get, put } from '../fixtures/files-node.ts'

const sources: Record<string, FileHeaderSource> = {
  facts: {
    headersOf: async ({ uuid }, { path, size, revision }) => ({
      'x-fact': `${uuid}${path}:${size}:${revision}`,
      'set-cookie': 'a=b',
      'content-length': '1',
      'x-broken': 'a\r\nb',
    }),
  },
  more: { headersOf: () => ({ 'x-more': 'yes, more' }) },
  throwing: {
    headersOf() {
      throw new Error('It fails.')
    },
  },
  rejecting: { headersOf: () => Promise.reject(new Error('It fails.')) },
  late: { headersOf: () => new Promise(() => {}) },
}

const plugin = definePlugin({
  id: 'adds-headers',
  contributes: { headers: FileHeaders },
  setup({ headers }) {
    for (const [name, source] of Object.entries(sources)) headers.add(name, source)
  },
})

t.test('plugins add headers to answers about a file, and harm none', async (t) => {
  const warnings: string[] = []
  const node = await createFilesNode(
    {},
    { plugins: [plugin], logLevel: 'warn', onLog: (line) => warnings.push(line) },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/folder/a', 'hello')
  const whole = await get(ada, 'read', '/folder/a')
  t.equal(await whole.text(), 'hello')
  const etag = whole.headers.get('etag') ?? ''
  const fact = `${ada.user.uuid}/folder/a:5:${etag.slice(1, -1)}`
  const range = await get(ada, 'read', '/folder/a', { headers: { range: 'bytes=1-2' } })
  t.equal(await range.text(), 'el')
  const head = await get(ada, 'read', '/folder/a', { method: 'HEAD' })
  const stat = await get(ada, 'stat', '/folder/a')
  for (const { headers } of [whole, range, head, stat]) {
    t.match(
      { fact: headers.get('x-fact'), more: headers.get('x-more'), etag: headers.get('etag') },
      { fact, more: 'yes, more', etag },
    )
    for (const name of ['set-cookie', 'x-broken']) t.equal(headers.get(name), null)
  }
  t.equal(head.headers.get('content-length'), '5')
  for (const name of ['throwing', 'rejecting', 'late'])
    t.ok(
      warnings.some((line) => line.includes(`"source":"${name}"`)),
      name,
    )
  t.ok(
    warnings.some((line) => line.includes('"leftOut":"set-cookie content-length x-broken","source":"facts"')),
    'the author is told',
  )
  t.equal((await get(ada, 'stat', '/folder')).headers.get('x-fact'), null)
})
