/**
 * Loaded in every sandbox before its program: lets the program import the one module of the SDK that is for sandboxes.
 * Node would look for it in `package.json` files and `node_modules` folders, which a sandbox must not read.
 */
import { registerHooks } from 'node:module'
import { extname } from 'node:path'

const url = new URL(`./wasm-binary${extname(import.meta.url)}`, import.meta.url).href

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    specifier === '@nodekeep/plugin-sdk/wasm-binary'
      ? { url, shortCircuit: true }
      : nextResolve(specifier, context),
})
