import { nameOf, parentOf } from '@nodekeep/plugin-sdk'
import t from 'tap'

t.test('the name and the folder of a path', async (t) => {
  for (const [path, name, folder] of [
    ['/a/b/c', 'c', '/a/b'],
    ['/a', 'a', '/'],
    ['/', '/', '/'],
  ] as const) {
    t.equal(nameOf(path), name)
    t.equal(parentOf(path), folder)
  }
})
