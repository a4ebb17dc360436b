import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { lockFolder } from '@nodekeep/plugin-sdk'
import t from 'tap'

t.test('One holder at a time has the lock of a folder.', async (t) => {
  const folder = t.testdir({ '.nodekeep': {} })
  const first = lockFolder(folder)
  t.ok(first)
  t.ok(existsSync(join(folder, '.nodekeep', 'lock')))
  t.equal(lockFolder(folder), null)
  first?.[Symbol.dispose]()
  const second = lockFolder(folder)
  t.ok(second)
  second?.[Symbol.dispose]()
})

t.test('A folder that nobody has used keeps nobody out, and stays as it is.', async (t) => {
  const folder = t.testdir()
  const locks = [lockFolder(folder), lockFolder(folder)]
  t.ok(locks.every((lock) => lock !== null))
  t.notOk(existsSync(join(folder, '.nodekeep')))
  for (const lock of locks) lock?.[Symbol.dispose]()
})
