import { createTestNode } from '@nodekeep/kernel/testing'
import t, { test } from 'tap'

const node = await createTestNode({ folder: import.meta.dirname, onLog: console.error, config: { plugins: { files: true, 'storage-local': true, uploads: true } } })
t.teardown(() => node.stop())
const b64 = (s: string) => Buffer.from(s).toString('base64')
test('x', async (t) => {
  const ada = await node.signIn()
  const tus = { 'tus-resumable': '1.0.0' }
  const r = await ada.fetch('/api/files/uploads', { method: 'POST', headers: { ...tus, 'upload-length': '11', 'upload-metadata': `path ${b64('/a/ü')},filetype ${b64('x/y')}` } })
  console.error(r.status, [...r.headers], await r.text())
  const url = String(r.headers.get('location'))
  for (const init of [
    { method: 'HEAD' }, { method: 'PATCH', headers: { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' }, body: 'hello' },
    { method: 'PATCH', headers: { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' }, body: 'hello' },
    { method: 'HEAD' }, { method: 'PATCH', headers: { 'upload-offset': '5', 'content-type': 'application/offset+octet-stream' }, body: ' world' },
    { method: 'HEAD' }, {method: 'OPTIONS'}, {method:'DELETE'}, {method: 'HEAD'}, {method:'GET'}, {method:'POST'},
  ]) {
    const r = await ada.fetch(url, { ...init, headers: { ...tus, ...(init as any).headers } })
    console.error(init.method, r.status, [...r.headers].filter(([k]) => !/csp|policy|permiss|content-sec|date|keep/.test(k)), await r.text())
  }
  console.error(await (await ada.fetch('/api/files/uploads')).text())
  console.error(await (await ada.fetch('/read?path=/a/%C3%BC')).text())
})
