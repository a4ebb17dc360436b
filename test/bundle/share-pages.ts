import { join } from 'node:path'
import { root } from '../run/command.ts'
import { bundled } from './pages.ts'

const folder = '../../../shares/src/browser'

/** The folder that the plugin `shares` serves. */
export const sharePagesFolder = join(root, 'plugins/shares/bundle')

/** Bundles the stylesheet and the script of the pages for guests of links. */
export async function bundleSharePages(): Promise<Map<string, Uint8Array>> {
  return new Map(await bundled({ drop: `${folder}/drop.ts`, 'shares.css': `${folder}/shares.css` }))
}
