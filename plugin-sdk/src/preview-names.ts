const pictures = /\.(?:avif|gif|hei[cf]|jfif|jpe|jpe?g|png|webp)$/i
const sounds = /\.(?:flac|m4[ab]|mp3|og[ag]|opus)$/i

/** Whether a file of this name is a picture of which there may be a preview. */
export function isPreviewedPicture(name: string): boolean {
  return pictures.test(name)
}

/** Whether a file of this name is audio that may have a cover picture, which is its preview. */
export function isPreviewedSound(name: string): boolean {
  return sounds.test(name)
}
