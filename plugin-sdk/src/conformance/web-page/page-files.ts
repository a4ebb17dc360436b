import assert from 'node:assert/strict'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'

/** A file of a page that a browser reads as a document or a stylesheet. */
interface ReadFile {
  /** From the folder, `/`-separated. */
  readonly path: string
  readonly text: string
}

/** Expects that everything in the folder of a page is in it: a link would let everybody read what it leads to. */
export async function assertWithin(folder: string): Promise<void> {
  const root = await realpath(folder)
  for (const name of await readdir(folder, { recursive: true })) {
    const target = await realpath(join(folder, name))
    assert.ok(target.startsWith(root + sep), `${name} leads out of the folder of the page`)
  }
}

/** Expects a file of the page that nothing hides. */
export async function assertFile(folder: string, path: string): Promise<void> {
  const found = await stat(join(folder, path)).catch(() => null)
  assert.ok(found?.isFile(), `${path} is a file in the folder of the page`)
}

/** Returns the documents and stylesheets of a page. */
export async function textsOf(folder: string): Promise<ReadFile[]> {
  const names = await readdir(folder, { recursive: true })
  const wanted = names.filter((name) => ['.html', '.css', '.svg'].includes(extname(name)))
  return Promise.all(
    wanted.map(async (name) => ({
      path: relative('', name).replaceAll('\\', '/'),
      text: await readFile(join(folder, name), 'utf8'),
    })),
  )
}

/** A script or style within a document. `src` makes a script one of a file. */
const inline = /<script(?![^>]*\bsrc\s*=)[^>]*>|<style\b|<[^>]*\s(?:style|on[a-z]+)\s*=/i
/** Addresses that a document or a stylesheet loads by itself. Those of links only lead somewhere. */
const loaded = /(?:<(?!a\b)[^>]*\b(?:src|href)\s*=\s*["']?|url\(\s*["']?|@import\s+["'])([^"')\s>]+)/gi

/** Names what the Content-Security-Policy of the node's pages refuses in a document or a stylesheet. */
export function refusedIn({ path, text }: ReadFile): string[] {
  const hosts = [...text.matchAll(loaded)].flatMap(([, address = '']) =>
    /^(?:[a-z]+:)?\/\//i.test(address) ? `${path} loads ${address} from another host` : [],
  )
  const script = path.endsWith('.css') ? null : inline.exec(text)
  return script === null ? hosts : [...hosts, `${path} has a script or a style within: ${script[0]}`]
}
