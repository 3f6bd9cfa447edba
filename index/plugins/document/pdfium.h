// The few functions of PDFium that are used (fpdfview.h and fpdf_text.h of the
// library, BSD-3-Clause), declared here because its Python wheel, where the
// library comes from, has no headers.
//
// PDFium is not thread-safe: one thread at a time.
#ifndef ROWFS_INDEX_PLUGINS_DOCUMENT_PDFIUM_H_
#define ROWFS_INDEX_PLUGINS_DOCUMENT_PDFIUM_H_

extern "C" {

typedef struct fpdf_document_t__* FPDF_DOCUMENT;
typedef struct fpdf_page_t__* FPDF_PAGE;
typedef struct fpdf_bitmap_t__* FPDF_BITMAP;
typedef struct fpdf_textpage_t__* FPDF_TEXTPAGE;

typedef struct fpdf_form_handle_t__* FPDF_FORMHANDLE;

// Version 1: the callbacks of an application that lets people fill in forms.
typedef struct _FPDF_FORMFILLINFO {
  int version;
  void* callbacks[64];  // all null; no version has as many
} FPDF_FORMFILLINFO;

typedef struct FPDF_LIBRARY_CONFIG_ {
  int version;
  const char** m_pUserFontPaths;  // null-terminated list of folders
  void* m_pIsolate;
  unsigned int m_v8EmbedderSlot;
} FPDF_LIBRARY_CONFIG;

void FPDF_InitLibraryWithConfig(const FPDF_LIBRARY_CONFIG* config);
FPDF_DOCUMENT FPDF_LoadMemDocument64(const void* data, size_t size,
                                     const char* password);
unsigned long FPDF_GetLastError(void);
void FPDF_CloseDocument(FPDF_DOCUMENT document);
FPDF_PAGE FPDF_LoadPage(FPDF_DOCUMENT document, int page_index);
void FPDF_ClosePage(FPDF_PAGE page);
FPDF_BITMAP FPDFBitmap_CreateEx(int width, int height, int format,
                                void* first_scan, int stride);
void FPDFBitmap_Destroy(FPDF_BITMAP bitmap);
void FPDF_RenderPageBitmap(FPDF_BITMAP bitmap, FPDF_PAGE page, int start_x,
                           int start_y, int size_x, int size_y, int rotate,
                           int flags);
FPDF_FORMHANDLE FPDFDOC_InitFormFillEnvironment(FPDF_DOCUMENT document,
                                                FPDF_FORMFILLINFO* info);
void FPDFDOC_ExitFormFillEnvironment(FPDF_FORMHANDLE form);
void FORM_OnAfterLoadPage(FPDF_PAGE page, FPDF_FORMHANDLE form);
void FORM_OnBeforeClosePage(FPDF_PAGE page, FPDF_FORMHANDLE form);
void FPDF_FFLDraw(FPDF_FORMHANDLE form, FPDF_BITMAP bitmap, FPDF_PAGE page,
                  int start_x, int start_y, int size_x, int size_y, int rotate,
                  int flags);
FPDF_TEXTPAGE FPDFText_LoadPage(FPDF_PAGE page);
void FPDFText_ClosePage(FPDF_TEXTPAGE text_page);
int FPDFText_CountChars(FPDF_TEXTPAGE text_page);
int FPDFText_GetText(FPDF_TEXTPAGE text_page, int start_index, int count,
                     unsigned short* result);

}  // extern "C"

#endif  // ROWFS_INDEX_PLUGINS_DOCUMENT_PDFIUM_H_
