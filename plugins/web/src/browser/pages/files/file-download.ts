import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { accepted } from '../../refusal.ts'
import { reasonOf } from '../../request.ts'
import { contentAddress, nameOf } from './paths.ts'

/** Lets the browser save a file, or a former content of it, from an address. It streams it to the disk. */
export async function downloadFile(
  page: PageContext,
  path: string,
  address = contentAddress(path),
): Promise<void> {
  if (await canBeRead(page, path)) save(address, nameOf(path))
}

/** Whether a path can be read. It asks the person to sign in if the session has ended: the browser would save the refusal. */
export async function canBeRead(page: PageContext, path: string): Promise<boolean> {
  try {
    await accepted(await page.fetch(`/stat?path=${encodeURIComponent(path)}`))
    return true
  } catch (error) {
    page.notice(reasonOf(error), 'error')
    return false
  }
}

/** Lets the browser save what is at an address. */
export function save(address: string, name: string): void {
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
}
