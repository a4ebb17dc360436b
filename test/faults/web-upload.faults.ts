import assert from 'node:assert/strict'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import { launchChromium } from '../browser/chromium.ts'
import { memoryGrowth } from '../web/browser-memory.ts'
import type { Fault } from './fault.ts'

/** Bytes of the file. */
const size = 2 ** 30

/** Bytes by which the memory of the browser may grow. */
const allowance = 64e6

const timeout = 500_000

export default {
  name: 'An upload of 1 GiB by the page of files does not grow the memory of the browser.',
  defaultRounds: 1,
  roundSeconds: 600,
  async round({ log }) {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-upload-'))
    const plugins = { files: true, 'storage-local': true, uploads: true, web: true }
    const config = { plugins, storage: { maxFileSize: size } }
    const node = await createTestNode({ config, folder: import.meta.dirname })
    const browser = await launchChromium()
    try {
      const large = join(folder, 'large.bin')
      await writeFile(large, '')
      await truncate(large, size)
      const ada = await node.signIn()
      const context = await browser.newContext()
      await context.addCookies([{ name: 'session', value: ada.token, url: node.url.href, sameSite: 'Lax' }])
      const page = await context.newPage()
      await page.goto(node.url.href)
      await page.getByText('This folder is empty').waitFor({ timeout })
      const grown = await memoryGrowth(browser, async () => {
        await page.locator('input[type=file]').first().setInputFiles(large)
        await page.getByText('(1/1)').waitFor({ timeout })
      })
      console.log(`The memory of the browser grew by ${Math.round(grown / 1e6)} MB.`)
      log(`The memory of the browser grew by ${grown} bytes.`)
      const stored = (await (await ada.fetch('/stat?path=/large.bin')).json()) as { readonly size: number }
      assert.equal(stored.size, size)
      assert.ok(grown < allowance)
    } finally {
      await browser.close()
      await node.stop()
      await rm(folder, { recursive: true, force: true })
    }
  },
} satisfies Fault
