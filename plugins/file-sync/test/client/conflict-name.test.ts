import t from 'tap'
import { conflictPath } from '../../src/client/conflict-name.ts'

const time = Date.UTC(2026, 10, 23, 14, 5, 12)

t.test('the name has the device and the time, and is free', async (t) => {
  const first = conflictPath('/a/report.odt', { device: 'laptop', time }, () => false)
  t.equal(first, '/a/report (conflict laptop 2026-11-23 140512).odt')
  const second = conflictPath('/a/report.odt', { device: 'laptop', time }, (path) => path === first)
  t.equal(second, '/a/report (conflict laptop 2026-11-23 140512 2).odt')
  t.equal(
    conflictPath('/.profile', { device: 'a/b:"c"', time }, () => false),
    '/.profile (conflict abc 2026-11-23 140512)',
  )
})

t.test('the name has what every disk can have of the name of the device', async (t) => {
  const nameOf = (device: string | null) => conflictPath('/a', { device, time }, () => false)
  t.equal(nameOf('???'), '/a (conflict device 2026-11-23 140512)')
  t.equal(nameOf(null), '/a (conflict 2026-11-23 140512)')
  t.equal(nameOf('d'.repeat(100)), `/a (conflict ${'d'.repeat(60)} 2026-11-23 140512)`)
})

t.test('the name of a long name is not too long', async (t) => {
  const path = conflictPath(`/${'é'.repeat(125)}.txt`, { device: 'laptop', time }, () => false)
  t.ok(Buffer.byteLength(path) - 1 <= 255)
  t.match(path, /\.txt$/)
})

t.test('the name of a long extension is not too long', async (t) => {
  for (const name of [`a.${'é'.repeat(126)}`, `${'b'.repeat(20)}.${'c'.repeat(230)}`]) {
    const path = conflictPath(`/${name}`, { device: 'd'.repeat(60), time }, () => false)
    t.ok(Buffer.byteLength(path) - 1 <= 255, path)
    t.match(path, /conflict d+ 2026-11-23 140512/)
  }
})
