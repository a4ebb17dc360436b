import { createTestNode } from '@nodekeep/kernel/testing'
import t from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { untilTrue } from '../browser/until-true.ts'
import { openPage } from './fixtures/frame.ts'
import { copyInput, store, wat } from './fixtures/plugin-fixtures.ts'
import { openSignedInTab } from './fixtures/signed-in-tab.ts'

const attack = '<img src=x onerror=window.__xss=1>'

const functions = `(module
  (func (export "add") (param i64 i64) (result i64) (i64.add (local.get 0) (local.get 1)))
  (func (export "swap") (param i32 f64) (result f64 i32) (local.get 1) (local.get 0))
  (func (export "${attack}") (unreachable))
  (func (export "endless") (loop (br 0))))`

/** Tells the reason on stderr and traps, as panics and assertions do. */
const panic = `(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\\20\\00\\00\\00\\17\\00\\00\\00")
  (data (i32.const 32) "index 7 is out of range")
  (func (export "_start")
    (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 16)))
    (unreachable)))`

t.test('a person calls functions and runs a program', { skip: needsChromium }, async (t) => {
  const plugins = {
    files: true,
    'storage-local': true,
    wasm: true,
    'wasm-native': true,
    'wasm-wasmer': true,
    web: true,
  }
  const config = { plugins, wasm: { timeoutMs: 120_000 } }
  const node = await createTestNode({ config, folder: import.meta.dirname })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  await store(user, `/code/${attack}.wasm`, await wat(functions))
  await store(user, '/code/copy.wasm', await wat(copyInput))
  await store(user, '/code/panic.wasm', await wat(panic))
  await store(user, '/code/broken.wasm', Buffer.from('no module'))
  await store(user, '/code/notes.txt', Buffer.from('no module'))
  const { page, faults } = await openSignedInTab(await startChromium(t), node, user)
  await page.setViewportSize({ width: 360, height: 740 })
  const button = (name: string) => page.getByRole('button', { name, exact: true })

  await openPage(page, 'WebAssembly')
  await button('Choose a module').click()
  await button('code').click()
  await button('copy.wasm').waitFor()
  t.equal(await button('notes.txt').count(), 0)
  await untilTrue(page, "document.activeElement.closest('.chooser') !== null")
  await button(`${attack}.wasm`).click()
  await page.getByRole('heading', { level: 1, name: `${attack}.wasm` }).waitFor()

  const add = page.getByRole('form', { name: 'add', exact: true })
  await add.getByText('(i64, i64) → i64').waitFor()
  await add.getByLabel('Number 1 (i64)').fill('9007199254740993')
  await add.getByLabel('Number 2 (i64)').fill('2')
  await add.getByRole('button').click()
  t.equal(await add.getByRole('status').locator('output').textContent(), '9007199254740995')
  await add.getByLabel('Number 2 (i64)').fill('two')
  await add.getByRole('button').click()
  await add.getByRole('alert').filter({ hasText: /i64/ }).waitFor()
  t.equal(await add.getByLabel('Number 1 (i64)').inputValue(), '9007199254740993')

  const swap = page.getByRole('form', { name: 'swap' })
  await swap.getByLabel('Number 1 (i32)').fill('7')
  await swap.getByLabel('Number 2 (f64)').fill('-0')
  await swap.getByLabel('Number 2 (f64)').press('Enter')
  t.equal(await swap.getByRole('status').locator('output').textContent(), '-0, 7')

  const trap = page.getByRole('form', { name: attack })
  await trap.getByRole('button').click()
  await trap.getByRole('alert').filter({ hasText: /\w/ }).waitFor()
  await button('Call: endless').click()
  await button('Stop: endless').click()
  await page.getByText('You stopped it.').waitFor()
  t.ok(
    await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
    'nothing is wider than a phone',
  )

  await button('Choose another module').click()
  await button('copy.wasm').click()
  await page.getByLabel('Arguments, one on each line').fill('first\nsecond one')
  await page.getByLabel('Input (stdin)').fill(`line\n${attack}`)
  await button('Run').click()
  await page.getByText('The program has ended with the exit code 2.').waitFor()
  t.equal(await page.getByRole('region', { name: 'Output (stdout)' }).textContent(), `line\n${attack}`)
  await page.reload()
  await page.getByRole('heading', { level: 1, name: 'copy.wasm' }).waitFor()

  await button('Choose another module').click()
  await button('code').click()
  await button('panic.wasm').click()
  await button('Run').click()
  await page.getByRole('alert').filter({ hasText: 'The program trapped: unreachable.' }).waitFor()
  const messages = page.getByRole('region', { name: 'Messages (stderr)' })
  t.equal(await messages.textContent(), 'index 7 is out of range')
  t.equal(await page.getByRole('region', { name: 'Output (stdout)' }).count(), 0)

  await button('Choose another module').click()
  await button('broken.wasm').click()
  await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor()
  t.equal(await page.evaluate('window.__xss'), undefined)
  t.strictSame(faults, [])
})
