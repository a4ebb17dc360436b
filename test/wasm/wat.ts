import wabt from 'wabt'

const toolkit = wabt()

/** Translates a module from the text format. It does not validate the module, because the tests do. */
export async function wat(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const module = (await toolkit).parseWat('script.wast', text)
  try {
    return new Uint8Array(module.toBinary({}).buffer)
  } finally {
    module.destroy()
  }
}
