/**
 * Loaded in every sandbox before its program: lets the program import the modules of the SDK that are for sandboxes.
 * Node would look for them in `package.json` files and `node_modules` folders, which a sandbox must not read.
 */
import { registerHooks } from 'node:module'
import { extname } from 'node:path'

const modules = new Map(
  ['sandbox-content', 'sandbox-frames', 'wasm-binary'].map((name) => [
    `@nodekeep/plugin-sdk/${name}`,
    new URL(`./${name}${extname(import.meta.url)}`, import.meta.url).href,
  ]),
)

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const url = modules.get(specifier)
    return url === undefined ? nextResolve(specifier, context) : { url, shortCircuit: true }
  },
})
