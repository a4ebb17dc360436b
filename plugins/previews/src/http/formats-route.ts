import { type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { PreviewNames } from '../preview-names.ts'

const formats = Type.Object({
  pictures: Type.Array(Type.String(), { description: 'Extensions of the names of pictures, such as "jpg".' }),
  sounds: Type.Array(Type.String(), {
    description: 'Extensions of the names of audio files, which may have a cover picture.',
  }),
})

/** Registers `GET /api/previews/formats`. */
export function formatsRoute(app: RoutesApp, names: PreviewNames): void {
  const schema = {
    operationId: 'getPreviewFormats',
    summary: 'Tell the names of files that may have a preview',
    description: 'The content decides whether there is one.',
    response: { 200: formats },
  }
  app.get('/api/previews/formats', { schema, config: { scope: 'files:read' } }, async () => {
    const { pictures, sounds } = names.extensions
    return { pictures: [...pictures], sounds: [...sounds] }
  })
}
